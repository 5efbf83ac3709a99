internal import Glibc

/// Paths of a user's files, by the XDG Base Directory Specification 0.8: a variable without an absolute path
/// is ignored.
enum UserFolders {
  /// Folder of the configuration: `$XDG_CONFIG_HOME/roomtone`, else `~/.config/roomtone`; nil without a home.
  static var configuration: String? { folder("XDG_CONFIG_HOME", orInHome: ".config") }
  /// Folder of the state: `$XDG_STATE_HOME/roomtone`, else `~/.local/state/roomtone`; nil without a home.
  static var state: String? { folder("XDG_STATE_HOME", orInHome: ".local/state") }

  /// Path of the catalogue of recordings; nil without a home.
  static var catalogue: String? { state.map { "\($0)/recordings.db" } }

  /// Path of the scripts' store; nil without a home.
  static var store: String? { state.map { "\($0)/store.db" } }

  /// Returns the absolute form of a path.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return "\(String(cString: folder))/\(path.hasPrefix("./") ? String(path.dropFirst(2)) : path)"
  }

  private static func folder(_ variable: String, orInHome relative: String) -> String? {
    if let given = value(variable) { return "\(given)/roomtone" }
    return value("HOME").map { "\($0)/\(relative)/roomtone" }
  }

  private static func value(_ variable: String) -> String? {
    guard let given = getenv(variable), given.pointee == UInt8(ascii: "/") else { return nil }
    return String(cString: given)
  }
}
