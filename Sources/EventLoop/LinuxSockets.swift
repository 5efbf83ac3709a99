internal import CLinux

/// Calls of Linux for sockets that Swift's Glibc module leaves out. Any thread.
public enum LinuxSockets {
  /// Bytes that have come and were not read; 0 for what is no socket.
  public static func bytesWaiting(at descriptor: Int32) -> Int { Int(socket_bytes_waiting(descriptor)) }
}
