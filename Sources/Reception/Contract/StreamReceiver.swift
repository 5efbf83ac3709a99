internal import Codecs
package import StreamCore

/// The source of the frames of one stream: fills its tee, and reports events. All members may be called on
/// any thread.
package protocol StreamReceiver: AnyObject, Sendable {
  /// Begins. Called once.
  func start()
  /// Ends it for good; once the receiver has handled the call, it reports nothing.
  func stop()
  /// Resumes after the buffer was full.
  func restart()
  /// Applies new options, also to the current connection as far as possible.
  func change(_ options: ReceiverOptions)
  /// Reports that the player has run out of sound: held sound may be the only one for long.
  func playerIsDry()
  /// Moves to a time of a file: the frames from there on have that seek generation.
  func seek(to time: StreamTime, generation: Int)
  /// Closes a transfer that is not needed while the player of a file rests for long; the sound that follows
  /// is requested when the player continues.
  func rest()
  /// Receives the sound from a time before the start of the buffer, and reports `earlier`.
  func receiveEarlier(from time: StreamTime)
}

extension StreamReceiver {
  package func restart() {}
  package func change(_ options: ReceiverOptions) {}
  package func playerIsDry() {}
  package func seek(to time: StreamTime, generation: Int) {}
  package func rest() {}
  package func receiveEarlier(from time: StreamTime) {}
}

/// An event of a received stream.
package enum ReceiverEvent: Sendable {
  /// A transfer begins.
  case connecting
  /// A server has answered with sound.
  case answered(StationInfo)
  /// The format of the frames that follow.
  case format(StreamFormat)
  /// A title has come, for the sound from that time of the stream on.
  case metadata(ICYMetadata, at: StreamTime)
  /// A connection failed; the next attempt follows by itself.
  case failed(StreamError)
  /// Sound comes again.
  case reconnected(gap: Double, stitched: Bool, overlap: Int)
  /// Enough has come for the player.
  case buffered
  /// The buffer is full of unheard sound: the reception pauses.
  case full
  /// The stream is a file, with the facts known by now.
  case file(FileFacts)
  /// The file is the first of these, which are to be played in turn.
  case programme([ListedAddress])
  /// A file is received, whose bytes go to the recordings unchanged.
  case copying
  /// The reception of a file without a length is complete: nothing follows.
  case complete
  /// Enough of a file is ahead of the player, which reports when that changes.
  case heldBack
  /// The sound before the buffer has come, with its titles, for a player that waits for it from a time on. If
  /// some of it is missing, with the reason.
  case earlier(from: StreamTime, [(title: ICYMetadata, time: StreamTime)], StreamError?)
  /// The first connection failed, or the reception can't continue: nothing follows.
  case gaveUp(StreamError)
}
