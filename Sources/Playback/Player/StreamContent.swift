internal import Codecs
internal import Reception
internal import StreamCore

/// The facts of a stream that is received, as far as they are known.
struct StreamContent {
  /// The origin of its sound; nil before the first reception.
  var origin: StreamOrigin?
  var station = StationInfo()
  var format: StreamFormat?
  /// The facts of a file; nil for a live stream.
  var file: FileFacts?
  /// `true` while the bytes of a file go to a recording unchanged.
  var isCopied = false

  /// The reason why it can only be recorded; nil if it can be played, and while that is not known.
  var unplayable: StreamError? {
    guard case .server(let address)? = origin else { return nil }
    if isCopied { return .copied(address.description) }
    guard let format, !format.codec.hasFrames, file == nil else { return nil }
    return .notPlayed(format.codec, address.description)
  }
}

/// The files of a list, of which one is played or recorded.
struct FileList {
  /// The file that is received; nil for the first, to which the address led.
  var current: ListedAddress?
  var rest: [ListedAddress]
}
