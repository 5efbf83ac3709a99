internal import Glibc
internal import LuaRuntime
internal import StreamKit

extension LuaCall {
  /// A name without zero bytes: the system would end it there.
  func nameText(_ number: Int) throws -> String {
    let text = try string(number, .name)
    guard !text.utf8.contains(0) else { throw problem(number, "contains a zero byte") }
    return text
  }
}

/// The path of a file, where a URL may have been meant to go.
/// - Parameter problem: makes the error, of what is wrong and what to do.
func checkedPath(_ given: String, _ problem: (_ problem: String, _ hint: String?) -> any Error) throws
  -> String
{
  if given.isEmpty { throw problem("the path is empty", nil) }
  if StreamURL.isPlayable(given) {
    throw problem("\(StreamURL.shown(given)) is a URL, not a file", "streams are played with play_stream")
  }
  return given
}

/// What is given for a URL and looks like the path of a file.
func looksLikePath(_ given: String) -> Bool {
  guard !given.isEmpty, StreamURL.scheme(given) == nil, !given.utf8.contains(0) else { return false }
  return ["/", "./", "../", "~/"].contains { given.hasPrefix($0) } || access(given, F_OK) == 0
}
