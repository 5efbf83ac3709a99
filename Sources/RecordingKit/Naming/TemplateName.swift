/// A component of the path that a template makes: a folder, or the name of the file.
struct TemplateName {
  enum Piece {
    /// Text of the template itself, kept unchanged.
    case own(String)
    /// The time, in the format requested by the template.
    case time(String)
    /// A value from outside, or a number.
    case value(String)
    /// The extension.
    case end(String)

    var text: String {
      switch self {
      case .own(let text), .time(let text), .value(let text), .end(let text): text
      }
    }
  }

  private var pieces: [Piece] = []

  mutating func add(_ piece: Piece) {
    guard case .time(let text) = piece else { return pieces.append(piece) }
    pieces.append(.time(RecordingName.clean(text)))
  }

  mutating func add(_ value: String?, else usual: String = "") {
    let clean = RecordingName.clean(value ?? "")
    pieces.append(.value(clean.isEmpty ? usual : clean))
  }

  mutating func addEnd(_ end: String) { pieces.append(.end(RecordingName.clean(end))) }

  /// Returns the name in at most `limit` bytes of UTF-8: the longest value is cut first, and text after it
  /// stays.
  func text(bytes limit: Int) -> String {
    var pieces = pieces
    var excess = Self.join(pieces).utf8.count - limit
    while excess > 0, let index = Self.longestValue(pieces) {
      let text = pieces[index].text
      // A step cuts a quarter at most, so that all long values are shortened alike.
      let cut = RecordingName.prefix(
        text, bytes: max(1, text.utf8.count - max(1, min(excess, text.utf8.count / 4))))
      pieces[index] = .value(RecordingName.trimmed(cut))
      excess = Self.join(pieces).utf8.count - limit
    }
    let isOwn = pieces.allSatisfy { if case .own = $0 { true } else { false } }
    let name = Self.join(pieces)
    // A template's own text may be `..`, or a name that the system refuses.
    return isOwn ? name : Self.safe(RecordingName.prefix(name, bytes: limit), pieces)
  }

  private static func join(_ pieces: [Piece]) -> String { pieces.map(\.text).joined() }

  private static func longestValue(_ pieces: [Piece]) -> Int? {
    pieces.indices
      .filter { if case .value(let text) = pieces[$0] { text.utf8.count > 1 } else { false } }
      .max { pieces[$0].text.utf8.count < pieces[$1].text.utf8.count }
  }

  /// Returns the name without blanks and dots at its ends; a leading dot stays if it is the template's own.
  private static func safe(_ name: String, _ pieces: [Piece]) -> String {
    let isHidden = if case .own(let text) = pieces.first { text.hasPrefix(".") } else { false }
    let trimmed = RecordingName.trimmed(name)
    if trimmed.isEmpty { return "_" }
    return isHidden ? "." + trimmed : trimmed
  }
}
