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

  /// Folder of the records of programs that the daemon's scripts have started; nil without a home.
  static var programs: String? { state.map { "\($0)/programs" } }

  /// Path of the changes of the house; nil without a home.
  static var history: String? { state.map { "\($0)/history.db" } }

  /// Path of the control socket of the daemon: in `$XDG_RUNTIME_DIR/roomtone`; without that, as in cron, in the folder that
  /// systemd makes for a logged-in user, else beside the state. Nil without a home.
  static var controlSocket: String? {
    let usual = "/run/user/\(getuid())"
    let runtime = value("XDG_RUNTIME_DIR") ?? (access(usual, W_OK) == 0 ? usual : nil)
    return (runtime.map { "\($0)/roomtone" } ?? state).map { "\($0)/control.sock" }
  }

  /// Folder of the user's systemd units: `$XDG_CONFIG_HOME/systemd/user`. Source: systemd.unit(5).
  static var systemdUnits: String? {
    let folder = value("XDG_CONFIG_HOME") ?? value("HOME").map { "\($0)/.config" }
    return folder.map { "\($0)/systemd/user" }
  }

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
