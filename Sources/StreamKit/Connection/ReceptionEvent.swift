internal import Codecs

/// What happens to a stream that is received.
enum ReceptionEvent: Sendable {
  /// A transfer begins.
  case connecting
  /// A server has answered, and what it sends is sound.
  case answered(StationInfo)
  /// What the frames that follow are.
  case format(StreamFormat)
  /// A title has come, which belongs to the sound from that time of the stream on.
  case metadata(ICYMetadata, at: StreamTime)
  /// A connection failed; the next one follows by itself.
  case failed(StreamError)
  /// Sound comes again.
  case reconnected(gap: Double, stitched: Bool, overlap: Int)
  /// Enough has come for the player.
  case buffered
  /// The buffer is full of what has not been heard: nothing is received any more.
  case full
  /// It is a file, of which so much is known by now.
  case file(FileFacts)
  /// The file is the first of these, which are to be played in turn.
  case programme([ListedURL])
  /// A file is received, whose bytes go to the recordings as they are.
  case copying
  /// Completes the reception of a file without a length: nothing follows.
  case complete
  /// Enough of a file is ahead of the player: it is to say when that is no longer so.
  case heldBack
  /// The first connection failed, or it can't go on: nothing follows.
  case gaveUp(StreamError)
}
