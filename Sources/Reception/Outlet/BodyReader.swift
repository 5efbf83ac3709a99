internal import EventLoop
internal import HTTP
internal import StreamCore

/// A reader of the content of a stream: a station's sound, segments, or a file. It delivers to a
/// `SoundOutlet`. Confined to the loop of the reception.
protocol BodyReader: AnyObject {
  var outlet: SoundOutlet { get }
  /// The moment of the next look, beside that of the connection; nil if none is due.
  var deadline: Instant? { get }
  /// `true` while nothing is requested, so that nothing is missing.
  var isAtRest: Bool { get }
  /// The longest time without bytes, beside that of the options.
  var silenceLimit: Duration { get }
  /// Handles everything that is due.
  func deadlinePassed()
  /// Handles a connection that was silent for too long, and will be closed.
  func silent()
  /// Resumes reading after a pause.
  func resume()
  /// Applies new options.
  func change(_ options: ReceiverOptions)
  /// Moves to a time of a file.
  func seek(to time: StreamTime, generation: Int)
  /// Closes a connection that is not needed, as the player rests for long.
  func rest()
  /// Receives the sound from a time before the start of the buffer, for which the player waits.
  func receiveEarlier(from time: StreamTime)
  /// Resumes reading: the recorded sound is on the disks.
  func diskHasRoom()
  /// Ends the reader for good.
  func end()
}

extension BodyReader {
  var deadline: Instant? { nil }
  var isAtRest: Bool { false }
  var silenceLimit: Duration { .zero }
  func deadlinePassed() {}
  func silent() {}
  func resume() {}
  func change(_ options: ReceiverOptions) {}
  func seek(to time: StreamTime, generation: Int) {}
  func rest() {}
  // Only segments that are listed can be received later.
  func receiveEarlier(from time: StreamTime) { outlet.report(.earlier(from: time, [], nil)) }
  func diskHasRoom() {}
  func end() {}
}

/// The connection of a stream, as the readers of its bodies need it. On the loop of the reception.
protocol BodyConnection: AnyObject {
  var loop: EventLoop { get }
  /// The time of deadlines and measurements.
  var now: Instant { get }
  var options: ReceiverOptions { get }
  /// `true` once the reception has ended.
  var isStopped: Bool { get }
  /// `true` if sound has come since the start.
  var hasSounded: Bool { get }
  /// The URL of the connection without user and password.
  var shownURL: String { get }
  /// The addresses that are listed after that of the connection.
  var candidates: [ListedAddress] { get }

  /// Requests another resource of the stream.
  /// - Throws: the reason why the request can't be made.
  func open(
    _ address: StreamAddress, headers: [(name: String, value: String)], on receiver: any HTTPReceiver
  ) throws(HTTPError) -> any BodyTransfer
  /// Notes sound that has come.
  /// - Parameter isJoining: `true` while frames are held, so that bytes must be read as they come.
  func received(_ sound: StreamTime, isJoining: Bool)
  /// Notes that the connection is not silent.
  func keepAlive()
  /// Returns the flow of a transfer whose bytes have been received, see `SoundOutlet.flow`.
  /// - Parameter lead: the lead that the sound may have in any case.
  func flow(lead: StreamTime) -> HTTPFlow
  /// Applies the longest time without bytes, beside that of the options.
  func setSilenceLimit(_ limit: Duration)
  /// Sets the timer anew, after the deadline of the reader has changed.
  func arm()
  /// Ends the connection; the next attempt follows, after the delay that the server asked for.
  func lost(_ error: StreamError, retryAfter: Duration)
  /// Ends the reception until it is restarted: the buffer is full.
  func bufferIsFull()
  /// Completes the reception: nothing follows.
  func finish()
}

extension BodyConnection {
  /// The time in seconds.
  var seconds: Double { Double(now.nanoseconds) / 1e9 }
}

/// The transfer of a resource that a reader has requested.
protocol BodyTransfer: AnyObject {
  /// Ends the transfer; its receiver is not called any more.
  func cancel()
  /// Resumes after its receiver has returned `.pause`.
  func resume()
}

extension HTTPTransfer: BodyTransfer {}
