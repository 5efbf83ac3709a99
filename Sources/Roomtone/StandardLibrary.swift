internal import CStandardLibrary
internal import Glibc

/// The Lua modules that ship with the product, and the tune of simulated stations: inside the program.
public enum StandardLibrary {
  /// The folder whose modules are found before those inside the program: `ROOMTONE_STDLIB`.
  public static func folder() -> String? { getenv("ROOMTONE_STDLIB").map { String(cString: $0) } }

  /// A file by its path in the library: `roomtone/misuse.lua`.
  static func file(_ path: String) -> [UInt8]? {
    entries.first { $0.path == path }.map { Array(UnsafeBufferPointer(start: $0.bytes, count: $0.size)) }
  }

  /// The text of a module, `roomtone.misuse`, and its name in messages.
  static func module(_ name: String) -> (text: [UInt8], chunkName: String)? {
    let path = String(name.map { $0 == "." ? "/" : $0 }) + ".lua"
    return file(path).map { ($0, "@stdlib/\(path)") }
  }

  /// The modules' names.
  static var modules: [String] {
    entries.map(\.path).filter { $0.hasSuffix(".lua") }
      .map { String($0.dropLast(4).map { $0 == "/" ? "." : $0 }) }
  }

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
