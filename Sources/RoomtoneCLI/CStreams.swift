// Glibc declares its streams as variables, which Swift regards as shared mutable state; no code assigns them.
@preconcurrency internal import Glibc

/// The C library's streams, to which Lua's `io` writes.
enum CStreams {
  /// Standard output.
  static var output: UnsafeMutablePointer<FILE>? { stdout }
}
