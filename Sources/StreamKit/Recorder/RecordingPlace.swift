internal import Glibc

extension RecordingTemplate {
  /// The template from the root on, so that its file is known by one path wherever a process works. `~/` stands for the home
  /// folder.
  /// - Parameter folder: where a relative one begins; nil for the working directory.
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

  /// A path as a template without fields.
  private static func literal(_ path: String) -> String {
    path.map { $0 == "{" || $0 == "}" ? "\($0)\($0)" : String($0) }.joined()
  }
}
