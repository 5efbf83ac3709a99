internal import EventLoop
internal import Glibc

/// The arguments of the process as the machine shows them to all of its users, in `ps` and in `/proc/PID/cmdline`.
enum ProcessArguments {
  /// Overwrites the user, the password and the query of each URL with `*` where the machine reads the
  /// arguments. To be called once the arguments have been copied. Does nothing where the machine does not
  /// report their position.
  static func hideSecrets() {
    guard let memory = memory() else { return }
    for word in memory.split(separator: 0) {
      hideSecrets(UnsafeMutableBufferPointer(rebasing: memory[word.startIndex..<word.endIndex]))
    }
  }

  /// Overwrites the secret parts of one argument, in place. Everything up to the last `@` counts as user and
  /// password.
  static func hideSecrets(_ word: UnsafeMutableBufferPointer<UInt8>) {
    let (mark, star) = (Array("://".utf8), UInt8(ascii: "*"))
    guard let start = word.indices.first(where: { word[$0...].starts(with: mark) }) else { return }
    let server = start + mark.count
    if let at = word[server...].lastIndex(of: UInt8(ascii: "@")) {
      for index in server..<at { word[index] = star }
    }
    if let query = word[server...].firstIndex(of: UInt8(ascii: "?")) {
      for index in word.index(after: query)..<word.endIndex { word[index] = star }
    }
  }

  /// The memory of the arguments, each ended by a zero byte. Source: proc(5), `arg_start` and `arg_end`.
  private static func memory() -> UnsafeMutableBufferPointer<UInt8>? {
    guard let range = LinuxProcess(getpid())?.arguments else { return nil }
    return UnsafeMutableBufferPointer(
      start: UnsafeMutablePointer(bitPattern: range.lowerBound), count: range.count)
  }
}
