internal import CLinux

/// The memory of the process. Any thread.
public enum LinuxMemory {
  /// Gives back to the system what was freed between what is in use: after a burst, which is over for good. Source:
  /// malloc_trim(3).
  public static func giveBackFree() { malloc_trim(0) }
}
