internal import EventLoop
internal import Glibc
internal import Home
public import LuaRuntime
internal import StreamCore

extension LuaOptions {
  /// An amount of bytes: a whole number, or text such as `"2GB"`.
  public func byteSize(_ name: String) throws -> Int? {
    guard let value = self[name] else { return nil }
    guard case .string(let text) = value else {
      guard case .int = value else { throw wrong(name, "bytes or text like \"2GB\"") }
      return try int(name, in: 0...(1 << 60))
    }
    guard let bytes = ByteSize.parse(text) else {
      throw problem(name, "\"\(text)\" is not an amount of bytes (as in 2GB, 500MB or 64MiB expected)")
    }
    return bytes
  }
}

extension LuaCall {
  /// A name without zero bytes, at which the system would end it.
  func nameText(_ number: Int) throws -> String {
    let text = try string(number, .name)
    guard !text.utf8.contains(0) else { throw problem(number, "contains a zero byte") }
    return text
  }
}

extension Script {
  /// The path of a sound file, folder or playlist, in place of which a caller may have passed a URL.
  /// - Parameter problem: makes the error of a message and a hint.
  /// - Throws: that error, also for the URL of a stream; `stream.url`, `stream.unsupported` for a URL that does not work
  ///   here; `audio.not_found` for a text with a password in it.
  func path(ofSound given: String, _ problem: (_ problem: String, _ hint: String?) -> any Error) throws
    -> String
  {
    if given.isEmpty { throw problem("the path is empty", nil) }
    if given.utf8.contains(0) { throw problem("the path contains a zero byte", nil) }
    if StreamAddress.looksLikeURL(given) {
      throw problem("\(try StreamAddress(given)) is a URL, not a file", "streams are played with play_stream")
    }
    let path = path(of: given)
    try MusicFiles.refuseCredentials(given, at: path)
    return path
  }
}

/// `true` if a text in place of a URL looks like the path of a file.
func looksLikePath(_ given: String) -> Bool {
  guard !given.isEmpty, StreamAddress.scheme(of: given) == nil, !given.utf8.contains(0) else { return false }
  if ["/", "./", "../", "~/"].contains(where: given.hasPrefix) { return true }
  return RemoteMount.of(given) != nil || access(given, F_OK) == 0
}
