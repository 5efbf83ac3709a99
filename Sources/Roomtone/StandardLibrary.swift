internal import CStandardLibrary
internal import EventLoop
internal import Glibc
internal import LuaRuntime
public import Reference

/// The Lua modules that ship with the product, and the tune of simulated stations: inside the program.
public enum StandardLibrary {
  /// The folder that `ROOMTONE_STDLIB` names, whose modules precede those inside the program.
  public static func folder() -> String? { getenv("ROOMTONE_STDLIB").map { String(cString: $0) } }

  /// A file by its path in the library: `roomtone/misuse.lua`.
  static func file(_ path: String) -> [UInt8]? {
    entries.first { $0.path == path }.map { Array(UnsafeBufferPointer(start: $0.bytes, count: $0.size)) }
  }

  /// Returns the text of a module, `roomtone.misuse`, and its name in messages; nil without such a module.
  /// - Parameter folder: the folder whose modules precede those inside the program.
  static func module(_ name: String, in folder: String?) -> (text: [UInt8], chunkName: String)? {
    guard modules.contains(name) else { return nil }
    let path = String(name.map { $0 == "." ? "/" : $0 }) + ".lua"
    if let folder, let text = try? WholeFile.read("\(folder)/\(path)", atMost: 1 << 20) {
      return (text, "@\(folder)/\(path)")
    }
    return file(path).map { ($0, "@stdlib/\(path)") }
  }

  /// The modules' names.
  static var modules: [String] {
    entries.map(\.path).filter { $0.hasSuffix(".lua") && !$0.hasPrefix(definitions) }
      .map { String($0.dropLast(4).map { $0 == "/" ? "." : $0 }) }
  }

  /// Returns `true` if the library or the host has a module, described or internal.
  public static func hasModule(_ name: String) -> Bool {
    name.hasPrefix("roomtone.") || modules.contains(name)
  }

  /// Reads the reference of the Lua API from the definitions in a folder's `meta`, or from those inside the program.
  /// - Parameter folder: the library's folder, as `folder()` returns it.
  public static func reference(in folder: String? = StandardLibrary.folder()) -> Reference {
    Reference.load(
      from: definitionFiles(in: folder).map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) })
  }

  /// Returns the files of the definitions of the Lua API: those in a folder's `meta`, else those inside the program.
  /// - Parameter folder: the library's folder, as `folder()` returns it.
  public static func definitionFiles(
    in folder: String? = StandardLibrary.folder()
  ) -> [(name: String, bytes: [UInt8])] {
    entries.filter { $0.path.hasPrefix(definitions) }.map { entry in
      let bytes = folder.flatMap { try? WholeFile.read("\($0)/\(entry.path)", atMost: 1 << 20) }
      return (
        String(entry.path.dropFirst(definitions.count)),
        bytes ?? Array(UnsafeBufferPointer(start: entry.bytes, count: entry.size))
      )
    }
  }

  private static let definitions = "meta/"

  /// The paths of all files.
  static var paths: [String] { entries.map(\.path) }

  private static var entries: [(path: String, bytes: UnsafePointer<UInt8>?, size: Int)] {
    var entries: [(String, UnsafePointer<UInt8>?, Int)] = []
    while let file = standard_library_file_at(entries.count)?.pointee {
      entries.append((String(cString: file.path), file.bytes, file.size))
    }
    return entries
  }
}

/// The files of the library that are not modules, by paths at which they can be opened: without the disk, so that an
/// alarm sounds on a full one, too. Confined to the loop.
final class LibraryFiles {
  /// The folder whose files precede those inside the program; nil without one.
  private let folder: String?
  /// Descriptors of files in memory, by their paths in the library.
  private var descriptors: [String: Int32] = [:]

  init(folder: String?) { self.folder = folder }

  deinit { for descriptor in descriptors.values { close(descriptor) } }

  /// The module `roomtone.files`, for the library's own modules: `path(name)` returns the path of a file.
  var functions: [LuaFunction] {
    [LuaFunction("path", arity: 1) { call in call.return(.string(try self.path(of: try call.string(1)))) }]
  }

  /// Returns the path of a file, valid as long as this object.
  private func path(of name: String) throws -> String {
    if let folder, access("\(folder)/\(name)", R_OK) == 0 { return "\(folder)/\(name)" }
    if let known = descriptors[name] { return Self.path(of: known) }
    guard let bytes = StandardLibrary.file(name) else {
      throw LuaError(code: "argument", message: "the library has no file \(name)")
    }
    let descriptor = LinuxFiles.inMemory(name: name)
    guard descriptor >= 0,
      bytes.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == bytes.count
    else {
      if descriptor >= 0 { close(descriptor) }
      throw LuaError(code: "audio.not_found", message: "no memory for the library's file \(name)")
    }
    descriptors[name] = descriptor
    return Self.path(of: descriptor)
  }

  private static func path(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }
}
