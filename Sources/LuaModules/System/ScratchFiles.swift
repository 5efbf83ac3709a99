internal import EventLoop
internal import Glibc
internal import LuaRuntime

/// The files that the scripts of a simulation write and remove: a layer above the real files, which stay as
/// they are. Reads find the written file, else the real one. Confined to the loop.
public final class ScratchFiles {
  private let log: (String) -> Void
  private let folder: String
  /// Absolute paths of real files that a script has removed.
  private var removed: Set<String> = []
  private var isUsed = false

  /// The largest real file that is copied when a script writes to a part of it.
  private static let largestCopy = 256 << 20

  /// A layer in `folder`, which is made with the first file and is empty until then.
  /// - Parameter log: receives a line when the first file is written or removed.
  public init(folder: String, log: @escaping (String) -> Void) { (self.folder, self.log) = (folder, log) }

  /// Replaces the functions of a script that open, remove or rename files.
  func replace(in state: LuaState) {
    state.layerFiles(
      LuaFunction("open") { [unowned self] call in
        let path = try call.string(1, .path)
        switch try self.path(path, mode: call.isNil(2) ? "r" : try call.string(2, .name)) {
        case .success(let found): return call.return(.string(found))
        case .failure(let error): return call.results(FileFailure.results(error.number, of: path))
        }
      })
    state.override(
      "os",
      [
        LuaFunction("remove", arity: 1) { [unowned self] call in
          let path = try call.string(1, .path)
          return Self.results(call, remove(path), path)
        },
        LuaFunction("rename", arity: 2) { [unowned self] call in
          let path = try call.string(1, .path)
          return Self.results(call, try rename(path, to: try call.string(2, .path)), path)
        },
      ])
  }

  private static func results(_ call: LuaCall, _ failure: Int32?, _ path: String) -> LuaReturn {
    failure.map { call.results(FileFailure.results($0, of: path)) } ?? call.return(true)
  }

  /// Returns the path at which a file is read: in the layer if a script has written it.
  func path(toRead path: String) -> String {
    guard isUsed, let absolute = Self.absolute(path) else { return path }
    let copy = folder + absolute
    return access(copy, F_OK) == 0 || removed.contains(absolute) ? copy : path
  }

  // MARK: Open

  /// Returns the path to open in place of `path`.
  private func path(_ path: String, mode: String) throws -> Result<String, SystemError> {
    // Without a folder the path fails as it does outside of a simulation; Lua refuses an invalid mode.
    guard let absolute = Self.absolute(path), let kind = mode.first, "rwa".contains(kind) else {
      return .success(path)
    }
    let copy = folder + absolute
    let (isCopied, isRemoved) = (access(copy, F_OK) == 0, removed.contains(absolute))
    var info = stat()
    let isReal = !isRemoved && stat(path, &info) == 0
    if kind == "r", !mode.contains("+") {
      return isRemoved && !isCopied ? .failure(SystemError(ENOENT)) : .success(isCopied ? copy : path)
    }
    if isReal, !isCopied, info.st_mode & S_IFMT != S_IFREG {
      if info.st_mode & S_IFMT == S_IFDIR || Self.isMemory(info) { return .success(path) }
      throw LuaError(
        code: "simulate.not_here",
        message: "'\(path.onOneLine)' is a FIFO or a device, which something outside of the simulation reads",
        hint: "guard it with pcall, or run the script for real")
    }
    if kind == "r", !isCopied, !isReal { return .failure(SystemError(ENOENT)) }
    if isReal, access(path, W_OK) != 0 { return .failure(SystemError(errno)) }
    if !isReal, !isCopied, access(LinuxFiles.folder(of: absolute), W_OK) != 0 {
      return .failure(SystemError(errno))
    }
    if let failure = begin(absolute, at: copy) { return .failure(SystemError(failure)) }
    if isReal, !isCopied, kind != "w", let failure = Self.copy(path, to: copy) {
      return .failure(SystemError(failure))
    }
    removed.remove(absolute)
    return .success(copy)
  }

  /// Makes the folder of a file in the layer, and reports the first file.
  /// - Returns: an errno; nil for success.
  private func begin(_ absolute: String, at copy: String) -> Int32? {
    if !isUsed {
      isUsed = true
      log(
        "files that scripts write or remove stay in the simulation, the first is \(absolute.onOneLine): "
          + "the real ones are as they were")
    }
    do throws(SystemError) {
      try LinuxFiles.makeFolders(LinuxFiles.folder(of: copy), mode: 0o700)
      return nil
    } catch { return error.number }
  }

  // MARK: Remove, rename

  /// - Returns: an errno; nil for success.
  private func remove(_ path: String) -> Int32? {
    guard let absolute = Self.absolute(path) else { return ENOENT }
    let copy = folder + absolute
    var info = stat()
    let isReal = !removed.contains(absolute) && lstat(path, &info) == 0
    guard isReal || access(copy, F_OK) == 0 else { return ENOENT }
    if isReal, info.st_mode & S_IFMT == S_IFDIR, !((try? LinuxFiles.names(in: path)) ?? [path]).isEmpty {
      return ENOTEMPTY
    }
    if access(LinuxFiles.folder(of: absolute), W_OK) != 0 { return errno }
    if let failure = begin(absolute, at: copy) { return failure }
    unlink(copy)
    if isReal { removed.insert(absolute) }
    return nil
  }

  /// - Returns: an errno; nil for success.
  private func rename(_ path: String, to new: String) throws -> Int32? {
    guard let (old, target) = Self.absolute(path).flatMap({ old in Self.absolute(new).map { (old, $0) } })
    else { return ENOENT }
    var info = stat()
    let source = self.path(toRead: path)
    guard stat(source, &info) == 0 else { return errno }
    guard info.st_mode & S_IFMT == S_IFREG else {
      throw LuaError(
        code: "simulate.not_here",
        message: "'\(path.onOneLine)' is not a file: it stays where it is in a simulation",
        hint: "guard it with pcall, or run the script for real")
    }
    for path in [old, target] where access(LinuxFiles.folder(of: path), W_OK) != 0 { return errno }
    if old == target { return nil }
    if let failure = begin(target, at: folder + target) { return failure }
    if let failure = Self.copy(source, to: folder + target) { return failure }
    removed.remove(target)
    return remove(path)
  }

  // MARK: Paths

  /// Returns the absolute path without links in its folders; nil if there is no such folder.
  private static func absolute(_ path: String) -> String? {
    let parent = LinuxFiles.folder(of: path)
    guard let real = realpath(parent, nil) else { return nil }
    defer { free(real) }
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    guard !name.isEmpty, name != ".", name != ".." else { return nil }
    let folder = String(cString: real)
    return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
  }

  /// `true` for the devices of memory, such as `/dev/null`.
  private static func isMemory(_ info: stat) -> Bool {
    info.st_mode & S_IFMT == S_IFCHR && info.st_rdev >> 8 & 0xfff == 1
  }

  /// Copies a file.
  /// - Returns: an errno; nil for success.
  private static func copy(_ path: String, to copy: String) -> Int32? {
    let bytes: [UInt8]
    do throws(WholeFile.ReadError) { bytes = try WholeFile.read(path, atMost: largestCopy) } catch {
      return error.errno == 0 ? EFBIG : error.errno
    }
    guard let file = fopen(copy, "we") else { return errno }
    let isWritten = fwrite(bytes, 1, bytes.count, file) == bytes.count
    return fclose(file) == 0 && isWritten ? nil : ENOSPC
  }
}
