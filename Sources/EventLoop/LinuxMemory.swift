internal import CLinux

/// The memory of the process. Any thread.
public enum LinuxMemory {
  /// Returns free memory between used blocks to the system, after a burst that will not recur. Source:
  /// malloc_trim(3).
  public static func giveBackFree() { malloc_trim(0) }
}
