internal import Glibc

/// Makes names for recordings that every common file system accepts, and that stay in their folder.
enum RecordingName {
  /// The limit of a name in bytes of UTF-8.
  static let longest = 255
  /// The highest number that is tried for an occupied name.
  static let highest = 10_000

  /// Returns text from outside as part of a name: without characters that file systems refuse or that move
  /// text on a screen, and without blanks and dots at its ends. May be empty.
  static func clean(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    // A name is shorter; a title may have any length.
    for scalar in text.unicodeScalars.prefix(4096) {
      switch scalar {
      case "/", "\\", ":", "*", "?", "\"", "<", ">", "|": result.append("_")
      // Control characters of the writing direction make a name look like another one.
      case "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FEFF}": break
      default:
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator: result.append(" ")
        default: result.append(scalar)
        }
      }
    }
    return trimmed(String(result))
  }

  /// Returns the text without blanks and dots at both ends.
  static func trimmed(_ text: String) -> String {
    let scalars = text.unicodeScalars
    let front = scalars.drop { $0 == " " || $0 == "." }
    guard let last = front.lastIndex(where: { $0 != " " && $0 != "." }) else { return "" }
    return String(String.UnicodeScalarView(front[...last]))
  }

  /// Returns the longest prefix of at most `limit` bytes of UTF-8 that splits no letter, unless the first
  /// letter is longer.
  static func prefix(_ text: String, bytes limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var (end, count) = (text.startIndex, 0)
    for index in text.indices {
      count += text[index].utf8.count
      guard count <= limit else { break }
      end = text.index(after: index)
    }
    if end > text.startIndex { return String(text[..<end]) }
    // The first letter, of many scalars, is too long.
    var result = String.UnicodeScalarView()
    count = 0
    for scalar in text.unicodeScalars {
      count += scalar.utf8.count
      guard count <= limit else { break }
      result.append(scalar)
    }
    return String(result)
  }

  /// Returns a path without its extension: `Show` for `Show.mp3`.
  static func withoutEnd(_ path: String) -> String {
    let nameStart = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    return path.lastIndex(of: ".").flatMap { $0 > nameStart ? String(path[..<$0]) : nil } ?? path
  }

  /// Returns `Song (incomplete).mp3` for `Song.mp3`; the name is cut if it would become too long.
  static func incomplete(_ path: String) -> String { marked(path, "incomplete") }

  /// Returns `Show (2).mp3` for `Show.mp3`; the name is cut if the number makes it too long.
  static func numbered(_ path: String, _ number: Int) -> String { marked(path, "\(number)") }

  private static func marked(_ path: String, _ text: String) -> String {
    let nameStart = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let name = path[nameStart...]
    // A leading dot hides a file, and a long end is not an extension.
    let dot = name.lastIndex(of: ".").flatMap { $0 > nameStart && name[$0...].utf8.count <= 16 ? $0 : nil }
    let (stem, end) = (name[..<(dot ?? name.endIndex)], name[(dot ?? name.endIndex)...])
    let mark = " (\(text))"
    let room = longest - PartFile.suffix.utf8.count - mark.utf8.count - end.utf8.count
    return path[..<nameStart] + prefix(String(stem), bytes: room) + mark + end
  }
}

extension RecordingTemplate {
  /// Returns the template as an absolute path, so that its file has one path whatever the working directory
  /// of a process. `~/` is the home folder.
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
