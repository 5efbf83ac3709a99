internal import Codecs

/// The source of the frames of one stream: fills its tee, and reports events. All members may be called on any
/// thread.
protocol StreamReceiver: AnyObject, Sendable {
  /// Begins. Called once.
  func start()
  /// Ends it for good; once the receiver has handled the call, it reports nothing.
  func stop()
  /// Resumes after the buffer was full.
  func restart()
  /// Applies new options, also to the connection under way as far as that can be.
  func change(_ options: ReceiverOptions)
  /// Reports that the player has nothing left: sound that is held back may be all that it gets for long.
  func playerIsDry()
  /// Moves to a time of a file: the frames from there on are marked with that seek generation.
  func seek(to time: StreamTime, generation: Int)
  /// Lets go of what nobody awaits, as the player of a file rests for long: the sound that follows comes when the player
  /// continues.
  func rest()
  /// Receives the sound from a time on that is in front of the buffer, and reports `earlier`.
  func receiveEarlier(from time: StreamTime)
}

extension StreamReceiver {
  func restart() {}
  func change(_ options: ReceiverOptions) {}
  func playerIsDry() {}
  func seek(to time: StreamTime, generation: Int) {}
  func rest() {}
  func receiveEarlier(from time: StreamTime) {}
}

/// An event of a stream that is received.
enum ReceiverEvent: Sendable {
  /// A transfer begins.
  case connecting
  /// A server has answered, and its answer is sound.
  case answered(StationInfo)
  /// The format of the frames that follow.
  case format(StreamFormat)
  /// A title has come, which belongs to the sound from that time of the stream on.
  case metadata(ICYMetadata, at: StreamTime)
  /// A connection failed; the next one follows by itself.
  case failed(StreamError)
  /// Sound comes again.
  case reconnected(gap: Double, stitched: Bool, overlap: Int)
  /// Enough has come for the player.
  case buffered
  /// The buffer is full of sound that has not been heard: the reception pauses.
  case full
  /// The stream is a file, with the facts that are known by now.
  case file(FileFacts)
  /// The file is the first of these, which are to be played in turn.
  case programme([ListedAddress])
  /// A file is received, whose bytes go to the recordings as they are.
  case copying
  /// The reception of a file without a length is complete: nothing follows.
  case complete
  /// Enough of a file is ahead of the player, which is to report when that is no longer so.
  case heldBack
  /// The sound in front of the buffer has come, for a player that waits for it from a time on, with its titles. Where some
  /// of it is missing, with the reason.
  case earlier(from: StreamTime, [(title: ICYMetadata, time: StreamTime)], StreamError?)
  /// The first connection failed, or the reception can't continue: nothing follows.
  case gaveUp(StreamError)
}
