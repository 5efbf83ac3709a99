/// A manual page in roff with the macros of man(7), written from plain text.
struct Roff {
  /// Longest part of a word, in characters, without a position at which a line may break: a terminal of 40 columns has
  /// less room inside of indented paragraphs.
  private static let longestPart = 20

  private(set) var text = ""

  /// Begins a page; `section` such as `"1"`.
  init(title: String, section: String, date: String, source: String, manual: String) {
    add(
      ".TH \(Self.argument(title.uppercased())) \(section) \(Self.argument(date)) \(Self.argument(source)) "
        + Self.argument(manual))
    // Neither hyphens nor spread words: names are copied from here.
    add(".nh\n.ad l")
  }

  mutating func section(_ title: String) { add(".SH \(Self.argument(title))") }
  mutating func subsection(_ title: String) { add(".SS \(Self.argument(title))") }

  /// Adds a paragraph.
  mutating func paragraph(_ text: String) { add(".PP\n" + Self.line(text)) }

  /// Adds a paragraph whose text is written already, with its fonts.
  mutating func paragraph(written text: String) { add(".PP\n" + text) }

  /// Adds a term above its indented explanation; the term is written already, with its fonts.
  mutating func term(written term: String, _ text: String) { add(".TP\n\(term)\n" + Self.line(text)) }

  /// Adds a paragraph inside the explanation of a term.
  mutating func continued(_ text: String) { add(".IP\n" + Self.line(text)) }

  /// Adds a line that is written already.
  mutating func append(written line: String) { add(line) }

  private mutating func add(_ lines: String) { text += lines + "\n" }

  // MARK: Escaping

  /// Returns the text as one line of input, which roff breaks where it must.
  static func line(_ text: String) -> String {
    let escaped = text.split(separator: " ").map { escape(breakable(String($0))) }.joined(separator: " ")
    // A dot or a quote at the beginning of a line would be a request.
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }

  /// Returns the text in bold, on the same conditions.
  static func bold(_ text: String) -> String { "\\fB\(line(text))\\fR" }
  /// Returns the text in italics, for what the user replaces.
  static func italic(_ text: String) -> String { "\\fI\(line(text))\\fR" }

  /// The mark of a position at which a word may break; escaped with the word.
  private static let breakMark: Character = "\u{1}"

  private static func breakable(_ word: String) -> String {
    guard word.count > longestPart else { return word }
    var result = ""
    for character in word {
      result.append(character)
      if "/,=|:&".contains(character) { result.append(breakMark) }
    }
    return result
  }

  private static func escape(_ text: String) -> String {
    text.map { character -> String in
      switch character {
      case "\\": "\\e"
      case "-": "\\-"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      case "\"": "\\(dq"
      case breakMark: "\\:"
      default: String(character)
      }
    }.joined()
  }

  /// Returns an argument of a macro, in quotes.
  private static func argument(_ text: String) -> String { "\"\(escape(text))\"" }
}
