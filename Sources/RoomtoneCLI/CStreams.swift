// Glibc declares its streams as variables, which Swift takes for shared mutable state; nothing ever assigns them.
@preconcurrency internal import Glibc

/// The streams of C, through which Lua's `io` writes.
enum CStreams {
  /// Standard output.
  static var output: UnsafeMutablePointer<FILE>? { stdout }
}
