/// A manual page in roff with the macros of man(7), written from plain text.
///
/// Source: groff_man(7), groff_char(7).
public struct Roff {
  /// The longest part of a word, in characters, without a position at which a line may break: a terminal of
  /// 40 columns has less room inside of indented paragraphs.
  private static let longestPart = 20

  /// The page so far.
  public private(set) var text = ""

  /// Begins a page; `section` such as `"1"`.
  public init(title: String, section: String, date: String, source: String, manual: String) {
    add(
      ".TH \(Self.argument(title.uppercased())) \(section) \(Self.argument(date)) \(Self.argument(source)) "
        + Self.argument(manual))
    // Without hyphenation and justification, as users copy names from the page.
    add(".nh\n.ad l")
  }

  /// Begins a section.
  public mutating func section(_ title: String) { add(".SH \(Self.argument(title))") }
  /// Begins a subsection.
  public mutating func subsection(_ title: String) { add(".SS \(Self.argument(title))") }

  /// Adds a paragraph.
  public mutating func paragraph(_ text: String) { add(".PP\n" + Self.line(text)) }

  /// Adds a paragraph whose text is written already, with its fonts.
  public mutating func paragraph(written text: String) { add(".PP\n" + text) }

  /// Adds a term above its indented explanation; the term is written already, with its fonts.
  public mutating func term(written term: String, _ text: String) {
    self.term(written: term, written: Self.line(text))
  }

  /// Adds a term above its indented explanation; both are written already, with their fonts.
  public mutating func term(written term: String, written text: String) { add(".TP 4\n\(term)\n" + text) }

  /// Indents all text that `body` adds.
  public mutating func indented(_ body: (inout Roff) -> Void) {
    add(".RS 4")
    body(&self)
    add(".RE")
  }

  /// Adds lines of code, which keep their breaks and spaces.
  public mutating func code(_ lines: [String]) {
    add(".PP\n.nf")
    indented { page in for line in lines { page.add(line.isEmpty ? "" : "\\&" + Self.escape(line)) } }
    add(".fi")
  }

  /// Adds a paragraph inside the explanation of a term.
  public mutating func continued(_ text: String) { add(".IP\n" + Self.line(text)) }

  /// Adds a line that is written already.
  public mutating func append(written line: String) { add(line) }

  private mutating func add(_ lines: String) { text += lines + "\n" }

  // MARK: Escaping

  /// Returns the text as one line of input, which roff breaks where it must.
  public static func line(_ text: String) -> String {
    let escaped = escape(breakable(text.split(separator: " ").joined(separator: " ")))
    // A dot or a quote at the beginning of a line would be read as a request.
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }

  /// Returns the text in bold, also as one line of input.
  public static func bold(_ text: String) -> String { "\\fB\(line(text))\\fR" }
  /// Returns the text in italics, for parts that the user replaces.
  public static func italic(_ text: String) -> String { "\\fI\(line(text))\\fR" }

  /// Returns the text as one line of input; parts in backquotes are bold.
  public static func marked(_ text: String) -> String {
    let pieces = text.split(separator: "`", omittingEmptySubsequences: false)
    let marked = pieces.enumerated().map { number, piece in
      let text = escape(breakable(String(piece)))
      return number % 2 == 1 ? "\\fB\(text)\\fR" : text
    }
    return "\\&" + marked.joined()
  }

  /// The mark of a position at which a word may break; escaped with the word.
  private static let breakMark: Character = "\u{1}"

  /// Marks the positions at which long words of a text may break.
  private static func breakable(_ text: String) -> String {
    text.split(separator: " ", omittingEmptySubsequences: false).map { word in
      word.count > longestPart
        ? word.map { "/,=|:&".contains($0) ? "\($0)\(breakMark)" : String($0) }.joined() : String(word)
    }.joined(separator: " ")
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
