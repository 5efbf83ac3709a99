internal import CLinux

/// Calls of Linux for sockets that Swift's Glibc module leaves out. Any thread.
public enum LinuxSockets {
  /// Returns the bytes that have arrived and were not read; 0 for a descriptor that is no socket.
  public static func bytesWaiting(at descriptor: Int32) -> Int { Int(socket_bytes_waiting(descriptor)) }
}
