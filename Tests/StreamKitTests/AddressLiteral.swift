public import StreamCore

/// A fixed address of a test, which traps when it is none.
extension StreamAddress: ExpressibleByStringLiteral {
  /// Parses the text.
  public init(stringLiteral text: String) {
    do throws(StreamError) { self = try StreamAddress(text) } catch { fatalError("\(error)") }
  }
}
