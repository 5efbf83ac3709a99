/// A command line of bash up to the cursor, split into words, and the part of the last word that readline replaces.
///
/// Source: bash(1), QUOTING and COMP_WORDBREAKS; readline's `_rl_find_completion_word`.
struct ShellLine: Equatable {
  /// Words before the last one, without quotes; the program's name is the first.
  private(set) var words: [String] = []
  /// Last word, without quotes; empty after a blank.
  private(set) var word = ""
  /// Quote that is open at the cursor; nil without one.
  private(set) var quote: Character?
  /// Number of characters of `word` before the text that readline replaces.
  private(set) var kept = 0

  /// Splits a line.
  /// - Parameter breaks: the characters at which readline begins a new word.
  init(_ line: String, breaks: String) {
    var hasWord = false
    var rest = line[...]
    while let character = rest.popFirst() {
      switch (quote, character) {
      case (nil, " "), (nil, "\t"), (nil, "\n"):
        if hasWord { words.append(word) }
        (word, kept, hasWord) = ("", 0, false)
        continue
      case (nil, "\\"): if let next = rest.popFirst() { word.append(next) }
      case ("\"", "\\"):
        guard let next = rest.first, "\"\\$`".contains(next) else {
          word.append(character)
          continue
        }
        word.append(rest.removeFirst())
      case (nil, "\""), (nil, "'"):
        quote = character
        kept = word.count
      case (quote, _) where quote == character:
        quote = nil
        if breaks.contains(character) { kept = word.count }
      default:
        word.append(character)
        if quote == nil, breaks.contains(character) { kept = word.count }
      }
      hasWord = true
    }
  }

  /// Returns the text with which readline replaces a part of the last word, so that it becomes `value`; nil when `value`
  /// differs from what readline keeps.
  /// - Parameter isQuoted: `false` where readline quotes by itself.
  func replacement(by value: String, isQuoted: Bool = true) -> String? {
    guard value.prefix(kept).lowercased() == word.prefix(kept).lowercased() else { return nil }
    let text = String(value.dropFirst(kept))
    guard isQuoted else { return text }
    switch quote {
    case "'": return text.replacing("'", with: "'\\''")
    case "\"": return text.map { "\"\\$`".contains($0) ? "\\\($0)" : String($0) }.joined()
    default:
      return text.map { character in
        let isPlain = character.isLetter || character.isNumber || "_./,+@%^-:=".contains(character)
        return isPlain ? String(character) : "\\\(character)"
      }.joined()
    }
  }
}
