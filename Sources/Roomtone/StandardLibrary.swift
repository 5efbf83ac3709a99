internal import Glibc

/// Where the Lua modules that ship with the product are.
public enum StandardLibrary {
  /// `ROOMTONE_STDLIB`, else `../share/roomtone/stdlib` from the executable, else `stdlib` in the source tree that
  /// the executable was built in. Nil when none of them is a folder.
  public static func folder() -> String? {
    if let given = getenv("ROOMTONE_STDLIB") { return String(cString: given) }
    guard let executable = executable() else { return nil }
    var folder = parent(of: executable)
    let installed = "\(parent(of: folder))/share/roomtone/stdlib"
    if isFolder(installed) { return installed }
    // .build/<triple>/<configuration>/roomtone, at most a few folders up.
    for _ in 0..<6 where folder.count > 1 {
      folder = parent(of: folder)
      if isFolder("\(folder)/stdlib/meta") { return "\(folder)/stdlib" }
    }
    return nil
  }

  private static func executable() -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  private static func parent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }

  private static func isFolder(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
  }
}
