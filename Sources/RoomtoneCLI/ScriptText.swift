internal import EventLoop
internal import Glibc

/// The text of a script, with its name for messages.
struct ScriptText {
  /// The path as typed, or `-e`, `-`.
  let name: String
  /// Lua's name of the chunk.
  let chunkName: String
  let isFile: Bool
  let bytes: [UInt8]

  /// Failure to read a script's text: a wrong path, which is wrong usage.
  struct Missing: CodedError {
    let code = "script.missing"
    let message: String
  }

  /// Creates the text of code from the command line.
  init(code: String) { self.init(name: "-e", chunkName: "=-e", isFile: false, bytes: Array(code.utf8)) }

  /// Reads a file, or standard input for `-`.
  /// - Parameter kind: the noun for messages.
  /// - Throws: `Missing`.
  init(path: String, kind: String = "script") throws(Missing) {
    let isInput = path == "-"
    let fd = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else {
      throw Missing(message: "can't open the \(kind) \(path): \(String(cString: strerror(errno)))")
    }
    defer { if !isInput { close(fd) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(fd, &buffer, buffer.count)
      if count == 0 { break }
      guard count > 0 else {
        throw Missing(message: "can't read the \(kind) \(path): \(String(cString: strerror(errno)))")
      }
      bytes += buffer[..<count]
      guard bytes.count <= 16 << 20 else {
        throw Missing(message: "\(path) is larger than 16 MB: no \(kind)")
      }
    }
    self.init(name: path, chunkName: isInput ? "=stdin" : "@\(path)", isFile: !isInput, bytes: bytes)
  }

  private init(name: String, chunkName: String, isFile: Bool, bytes: [UInt8]) {
    (self.name, self.chunkName, self.isFile, self.bytes) = (name, chunkName, isFile, bytes)
  }
}
