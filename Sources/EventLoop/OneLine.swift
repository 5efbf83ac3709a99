/// Returns a text as messages name it: between quotation marks, on one line, cut after `limit` characters.
public func quoted(_ text: String, by mark: Character = "\"", atMost limit: Int = 40) -> String {
  let visible = text.unicodeScalars.prefix(limit).map { scalar in
    scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) ? "?" : String(scalar)
  }
  return "\(mark)\(visible.joined())\(text.unicodeScalars.count > limit ? "…" : "")\(mark)"
}

/// Returns seconds of sound as players show them: `0:07`, `1:02:03`.
public func clockText(_ seconds: Int) -> String {
  func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
  return (hours > 0 ? "\(hours):\(two(minutes))" : "\(minutes)") + ":\(two(seconds % 60))"
}

/// The limit of a name in bytes. A longer text is refused before it is compared with names.
public let longestName = 255

extension String {
  /// The limit in bytes of a text repeated in answers, errors and the journal.
  public static let longestExcerpt = 200

  /// The text as answers and errors repeat it: its first 200 bytes, and `…` for the rest.
  public var excerpt: String { cut(to: Self.longestExcerpt) }

  /// Returns the first bytes of the text, without a part of a letter, and `…` for the rest.
  public func cut(to limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(utf8.startIndex, offsetBy: limit)
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return self[..<end] + "…"
  }

  /// The text with characters that move it on a screen escaped as in Lua, `\n`, `\x1b` and `\u{202e}`: names
  /// of files, titles of stations and the like may move a terminal's cursor, turn the direction of writing,
  /// or look like another line.
  public var onOneLine: String {
    guard unicodeScalars.contains(where: \.movesText) else { return self }
    var result = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.movesText:
        let hex = String(scalar.value, radix: 16)
        result += scalar.value > 0xFF ? "\\u{\(hex)}" : "\\x" + (hex.count < 2 ? "0" : "") + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The text from outside (a station, a headset, a feed) in the form that is shown and stored: without
  /// escape sequences, control characters, overrides of the direction of writing, line separators, and blanks
  /// at its ends.
  public var cleaned: String {
    var (kept, rest) = (String.UnicodeScalarView(), unicodeScalars[...])
    while let scalar = rest.popFirst() {
      if scalar == "\u{1B}" || scalar == "\u{9B}" {
        rest = Self.behindEscape(scalar, rest)
      } else if !scalar.movesText {
        kept.append(scalar)
      }
    }
    let isBlank: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\u{A0}" || $0 == "\u{FEFF}" }
    let front = kept.drop(while: isBlank)
    let end = front.lastIndex { !isBlank($0) }.map { front.index(after: $0) } ?? front.startIndex
    return String(String.UnicodeScalarView(front[..<end]))
  }

  /// Returns the text after an escape sequence that `escape` begins. A sequence without an end does not
  /// count: its text stays.
  ///
  /// Source: ECMA-48, 5.4 (control sequences) and 5.6 (control strings).
  private static func behindEscape(
    _ escape: Unicode.Scalar, _ rest: Substring.UnicodeScalarView
  ) -> Substring.UnicodeScalarView {
    guard escape == "\u{9B}" || rest.first == "[" else {
      guard let first = rest.first, "]PX^_".unicodeScalars.contains(first),
        let end = rest.firstIndex(where: { ["\u{7}", "\u{1B}", "\u{9C}"].contains($0) })
      else { return rest }
      let behind = rest[rest.index(after: end)...]
      return rest[end] == "\u{1B}" && behind.first == "\\" ? behind.dropFirst() : behind
    }
    let parameters = escape == "\u{9B}" ? rest : rest.dropFirst()
    let behind = parameters.drop { (" "..."?").contains($0) }
    guard let final = behind.first, ("@"..."~").contains(final) else { return rest }
    return behind.dropFirst()
  }
}

extension Unicode.Scalar {
  /// `true` for a scalar that is not visible text in a line: control characters, embeddings, overrides and
  /// isolates of the direction of writing, separators of lines and paragraphs.
  public var movesText: Bool {
    switch self {
    case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{2028}", "\u{2029}": true
    default: properties.generalCategory == .control
    }
  }
}
