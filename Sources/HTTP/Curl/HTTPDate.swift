internal import CCurl
internal import EventLoop

extension WallTime {
  /// Creates a moment from HTTP's format: `Sun, 06 Nov 1994 08:49:37 GMT`, also in its obsolete forms; nil
  /// for other text.
  /// Source: RFC 9110 §5.6.7.
  init?(httpDate text: String) {
    // libcurl reads a number as a date of eight digits; a date begins with the name of its day.
    guard text.utf8.count <= 64, text.utf8.first.map({ $0 >= UInt8(ascii: "A") }) ?? false else { return nil }
    guard let seconds = (try? CurlLibrary.functions)?.curl_getdate(text, nil), seconds != -1
    else { return nil }
    self.init(seconds: Int64(seconds))
  }
}
