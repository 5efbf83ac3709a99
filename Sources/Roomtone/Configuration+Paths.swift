internal import Glibc
internal import LuaRuntime

extension LuaOptions {
  /// A path that means the same wherever the command runs: an absolute one, or one in the home folder.
  func path(_ name: String) throws -> String? {
    guard let given = try string(name, .path) else { return nil }
    guard let path = Self.absolute(given) else {
      throw problem(name, "an absolute path, or one that begins with ~/, expected, got \"\(given)\"")
    }
    return path
  }

  /// Replaces `~/` by the home folder; nil for a relative path, and where there is no home.
  private static func absolute(_ path: String) -> String? {
    guard path == "~" || path.hasPrefix("~/") else { return path.hasPrefix("/") ? path : nil }
    guard let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") else { return nil }
    return home + path.dropFirst()
  }
}
