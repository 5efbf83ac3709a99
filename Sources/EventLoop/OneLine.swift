extension String {
  /// The text with its control characters as Lua writes them, `\n` and `\x1b`: names of files, titles of stations and
  /// the like may hold what moves a terminal's cursor, or looks like another line.
  public var onOneLine: String {
    guard unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return self }
    var result = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.properties.generalCategory == .control:
        let hex = String(scalar.value, radix: 16)
        result += "\\x" + (hex.count < 2 ? "0" : "") + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
