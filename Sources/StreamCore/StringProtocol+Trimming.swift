extension StringProtocol {
  /// Returns the text without white space at both ends.
  package func trimmingEnds() -> String {
    var rest = self[...]
    while rest.last?.isWhitespace == true { rest = rest.dropLast() }
    return String(rest.drop { $0.isWhitespace })
  }
}
