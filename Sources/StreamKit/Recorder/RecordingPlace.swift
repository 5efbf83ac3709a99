internal import Glibc

extension RecordingTemplate {
  /// Returns the template as an absolute path, so that its file has one path whatever the working directory
  /// of a process. `~/` stands for the home folder.
  /// - Parameter folder: the folder of a relative path; nil for the working directory.
  public static func absolute(_ text: String, from folder: String? = nil) -> String {
    if text.hasPrefix("~/"), let home = getenv("HOME") {
      return literal(String(cString: home)) + text.dropFirst()
    }
    if text.hasPrefix("/") { return text }
    let rest = text.hasPrefix("./") ? text.dropFirst(2) : text[...]
    if let folder { return "\(literal(folder))/\(rest)" }
    guard let here = getcwd(nil, 0) else { return text }
    defer { free(here) }
    return "\(literal(String(cString: here)))/\(rest)"
  }

  /// Returns a path as a template without fields.
  private static func literal(_ path: String) -> String {
    path.map { $0 == "{" || $0 == "}" ? "\($0)\($0)" : String($0) }.joined()
  }
}
