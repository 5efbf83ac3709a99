internal import EventLoop
internal import Glibc
internal import LuaRuntime

/// The mark on disk of a Lua file whose code holds the process: the watchdog writes it before it would end
/// the process, and removes it when the code suspends after all. A mark that exists at the start belongs to
/// code with which the process ended.
public struct HoldMark: Sendable {
  /// The path of the mark.
  let path: String
  /// The path of the file of Lua, which the mark contains.
  let file: String

  /// The mark at `path` of the file of Lua at `file`.
  public init(path: String, file: String) { (self.path, self.file) = (path, file) }

  /// The mark of a script of the daemon, in the folder of the state.
  init(script name: String, file: String, in folder: String) {
    self.init(path: "\(Self.folder(in: folder))/\(name)", file: file)
  }

  /// Returns the folder of the marks of scripts.
  private static func folder(in folder: String) -> String { "\(folder)/held" }

  /// Makes the folder of the marks of scripts.
  static func makeFolder(in folder: String) throws(SystemError) {
    try LinuxFiles.makeFolders(Self.folder(in: folder), mode: 0o700)
  }

  /// The moment at which the code had held the process for some seconds, if it ended with that, and its file has not
  /// changed since; nil otherwise.
  var held: WallTime? {
    var mark = stat()
    guard stat(path, &mark) == 0, mark.st_mode & S_IFMT == S_IFREG, mark.st_size <= 4096,
      let content = try? readSmallFile(path), content == file,
      // The change time of a file that was moved into place is the moment of the move.
      let marked = LinuxFiles.modificationTime(of: path), let changed = LinuxFiles.changeTime(of: file)
    else { return nil }
    return marked >= changed ? marked : nil
  }

  private func readSmallFile(_ path: String) throws(SystemError) -> String {
    let fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard fd >= 0 else { throw SystemError(errno) }
    defer { close(fd) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(fd, &bytes, bytes.count)
    guard count >= 0 else { throw SystemError(errno) }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// Lets the code run again.
  func remove() { unlink(path) }

  /// Returns the error in place of running the code; nil when no mark says that it is needed.
  /// - Parameter hint: the way to run it all the same.
  func refusal(_ local: (WallTime) -> String, hint: String) -> LuaError? {
    guard let held else { return nil }
    return LuaError(
      code: "script.blocked",
      message:
        "not run: at \(local(held)) one call of \(file.onOneLine) held the process until that was ended, "
        + "and couldn't be interrupted (a pattern that takes for ever?)",
      hint: hint)
  }
}
