/// The tokens of a text that may be cut anywhere, such as one that is being typed, and the way in which it ends.
///
/// Bytes that begin no token are left out, and so are malformed numbers.
public struct LuaFragment: Sendable {
  /// The end of the text.
  public enum Ending: Equatable, Sendable {
    /// The last token, or blanks after it.
    case token
    case comment
    /// A string in quotation marks: the offset of its mark, and its contents so far.
    case string(start: Int, contents: String)
    case longString
    /// An unfinished number, such as `0x`, or a character beyond ASCII, which begins no token.
    case unreadable
  }

  /// The tokens, in order, up to the one that the end cuts off.
  public let tokens: [LuaToken]
  /// The end of the text.
  public let ending: Ending

  /// Reads a text.
  public init(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    var lexer = LuaLexer(fragment: bytes)
    var (tokens, ending) = ([LuaToken](), Ending.token)
    reading: while true {
      let start: Int
      do throws(LuaSyntaxError) {
        let token = try lexer.next()
        if token.kind == .endOfFile {
          if case .comment = lexer.cut { ending = .comment }
          break reading
        }
        tokens.append(token)
        continue
      } catch { start = error.offset }
      switch lexer.cut {
      case .comment: ending = .comment
      case .longString: ending = .longString
      case .string(let contents):
        ending = .string(start: start, contents: String(decoding: contents, as: UTF8.self))
      case nil:
        let isNumber = lexer.position > start
        if !isNumber { lexer.skipByte() }
        guard lexer.position == bytes.count, isNumber || bytes[start] >= 0x80 else { continue }
        ending = .unreadable
      }
      break
    }
    (self.tokens, self.ending) = (tokens, ending)
  }
}
