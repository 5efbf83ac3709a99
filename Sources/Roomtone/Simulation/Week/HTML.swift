internal import EventLoop

/// A piece of HTML. The literal parts of an interpolated string are markup, and values in it are text: a `String` becomes
/// text that can't end an element or an attribute, whatever is in it.
struct HTML: Sendable, Equatable, ExpressibleByStringInterpolation {
  /// The markup.
  private(set) var markup: String

  init(stringLiteral markup: String) { self.markup = markup }
  init(stringInterpolation: StringInterpolation) { markup = stringInterpolation.markup }

  /// Pieces, one after the other.
  init(_ pieces: some Sequence<HTML>) {
    markup = ""
    for piece in pieces { markup += piece.markup }
  }

  static func += (html: inout HTML, other: HTML) { html.markup += other.markup }

  /// Returns a share of a whole as a CSS percentage with three decimals, such as `28.125%`.
  static func percent(_ part: Int, of whole: Int) -> HTML {
    let thousandths = whole > 0 ? (part * 100_000 + whole / 2) / whole : 0
    let rest = "\(abs(thousandths) % 1000)"
    let zeros = String(repeating: "0", count: 3 - rest.count)
    return "\(verbatim: "\(thousandths / 1000).\(zeros)\(rest)")%"
  }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var markup = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      markup.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: String) { markup += literal }
    mutating func appendInterpolation(_ number: Int) { markup += "\(number)" }
    mutating func appendInterpolation(_ html: HTML) { markup += html.markup }
    mutating func appendInterpolation(_ pieces: [HTML]) { markup += HTML(pieces).markup }

    /// Appends markup that the caller has made itself.
    mutating func appendInterpolation(verbatim text: String) { markup += text }

    /// Appends text. Tabs, with which `print` parts its values, are blanks; other control characters and overrides of the
    /// direction of writing are shown as escapes.
    mutating func appendInterpolation(_ text: String) {
      let text = String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\t" ? " " : $0 }))
      for scalar in text.onOneLine.unicodeScalars {
        switch scalar {
        case "&": markup += "&amp;"
        case "<": markup += "&lt;"
        case ">": markup += "&gt;"
        case "\"": markup += "&quot;"
        case "'": markup += "&#39;"
        default: markup.unicodeScalars.append(scalar)
        }
      }
    }
  }
}
