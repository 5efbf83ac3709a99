/// A stream as its recordings know it. Confined to the loop.
package protocol RecordedStream: AnyObject {
  /// The URL as messages show it, or the path.
  var shownURL: String { get }
  /// The address in effect; nil for a file of this machine.
  var address: StreamAddress? { get }
  /// The name and the genre of the station, for the disk thread.
  var stationName: StationName { get }
  /// Sends no more frames to the queue of a recording.
  func detach(_ queue: RecordingQueue)
  /// Removes a recording that has ended.
  func left(_ recording: any StreamRecording)
}

/// A recording as its stream knows it. Confined to the loop.
package protocol StreamRecording: AnyObject {
  /// The queue that receives the frames.
  var queue: RecordingQueue { get }
  /// Returns when the first frame is on disk. If the task is cancelled before, the recording ends.
  func begun() async throws
  /// Ends the recording; received sound is written.
  func finish()
  /// Ends the recording with an error, as the stream does not come, or no longer; written sound is kept.
  func fail(_ error: any Error)
}

/// The part of the options of a recording that decides where it begins in the received sound.
package protocol RecordingStart {
  /// `true` if the stream connects anew for the recording.
  var resets: Bool { get }
  /// The length of the buffered sound at the beginning of the recording.
  var back: Duration { get }
  /// The length of additional sound before the beginning, as far as the buffer holds it.
  var padBefore: Duration { get }
}

/// A recorder as the streams know it. Confined to the loop.
package protocol StreamRecorder {
  /// The options of a recording.
  associatedtype Options: RecordingStart
  /// A recording that it makes.
  associatedtype Result: StreamRecording
  /// Starts a recording of `stream`, whose frames the caller sends to the recording's queue.
  /// - Throws: `argument` for a template that can't be read, `loop.thread`, `stream.unsupported` for a file
  ///   of this machine.
  func begin(_ options: Options, of stream: any RecordedStream) throws -> Result
}
