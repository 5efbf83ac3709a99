public import EventLoop
internal import Glibc
internal import LuaRuntime

/// The failure to read a script. The process exits with status 2, as after other wrong usage.
public typealias ScriptTextError = Failure<ScriptTextErrorKind>

/// The kinds of failure to read a script; the raw value is the stable code.
public enum ScriptTextErrorKind: String, FailureKind {
  /// The path is wrong, or leads to a file that can't be a script.
  case missing = "script.missing"
}

/// The text of a script, and its names in messages.
public struct ScriptText: Sendable {
  /// The path as it was given, or `-e`, `-`.
  public let name: String
  /// Lua's name of the chunk.
  public let chunkName: String
  /// `true` for the text of a file, beside which relative paths and modules are looked for too.
  public let isFile: Bool
  /// The text.
  public let bytes: [UInt8]

  /// Creates a text of code from the command line.
  public init(code: String) {
    self.init(name: "-e", chunkName: "=-e", isFile: false, bytes: Array(code.utf8))
  }

  /// Reads a file, or standard input for `-`. A file on a remote mount has to arrive within `FileDeadline.limit`.
  /// - Parameter kind: the word for it in messages.
  public init(path: String, kind: String = "script") throws(ScriptTextError) {
    guard path != "-", RemoteMount.of(path) != nil else {
      self = try Self.read(path, kind)
      return
    }
    let result: Result<ScriptText, ScriptTextError>?
    do {
      result = try FileCall { Result { () throws(ScriptTextError) in try Self.read(path, kind) } }.wait()
    } catch {
      throw ScriptTextError(.missing, "can't read the \(kind) \(path): \(error)")
    }
    guard let result else { throw Self.unanswered(path, kind) }
    self = try result.get()
  }

  /// Returns the error of a file on a remote mount that does not answer.
  static func unanswered(_ path: String, _ kind: String = "script") -> ScriptTextError {
    let (cause, hint) = FileDeadline.silence(of: path)
    return ScriptTextError(.missing, "can't read the \(kind) \(path): \(cause)", hint: hint)
  }

  private static func read(_ path: String, _ kind: String) throws(ScriptTextError) -> ScriptText {
    let isInput = path == "-"
    let fd = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else {
      throw ScriptTextError(.missing, "can't open the \(kind) \(path): \(SystemError(errno).text)")
    }
    defer { if !isInput { close(fd) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(fd, &buffer, buffer.count)
      if count == 0 { break }
      guard count > 0 else {
        throw ScriptTextError(.missing, "can't read the \(kind) \(path): \(SystemError(errno).text)")
      }
      bytes += buffer[..<count]
      guard bytes.count <= LuaState.largestSource else {
        throw ScriptTextError(.missing, "\(path) is larger than 1 MB: no \(kind) is")
      }
    }
    return ScriptText(name: path, chunkName: isInput ? "=stdin" : "@\(path)", isFile: !isInput, bytes: bytes)
  }

  private init(name: String, chunkName: String, isFile: Bool, bytes: [UInt8]) {
    (self.name, self.chunkName, self.isFile, self.bytes) = (name, chunkName, isFile, bytes)
  }

  /// Compiles the text without running it.
  /// - Throws: `LuaError` of its syntax.
  public func compile() throws {
    let loop = EventLoop(name: "compiler")
    defer { loop.close() }
    let state = try LuaState(name: name, loop: loop, limits: LuaLimits(), watchdog: try LuaWatchdog())
    defer { state.close() }
    _ = try state.load(bytes, chunkName: chunkName)
  }
}
