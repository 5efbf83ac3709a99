internal import Glibc

/// Where a user's files are, by the XDG Base Directory Specification 0.8: a variable that holds no absolute path does not
/// count.
enum UserFolders {
  /// `$XDG_CONFIG_HOME/roomtone`, else `~/.config/roomtone`; nil when there is no home.
  static var configuration: String? { folder("XDG_CONFIG_HOME", orInHome: ".config") }
  /// `$XDG_STATE_HOME/roomtone`, else `~/.local/state/roomtone`; nil when there is no home.
  static var state: String? { folder("XDG_STATE_HOME", orInHome: ".local/state") }

  /// The catalogue of recordings; nil when there is no home.
  static var catalogue: String? { state.map { "\($0)/recordings.db" } }

  /// What scripts keep; nil when there is no home.
  static var store: String? { state.map { "\($0)/store.db" } }

  /// The path from the root on.
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
