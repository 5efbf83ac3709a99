public import EventLoop

/// A failure in a house of speakers. Matched by `kind` in Swift and by `code` in scripts.
public typealias SpeakerError = Failure<SpeakerErrorKind>

/// The kinds of failure in a house of speakers; the raw value is the stable code, as scripts see it.
public enum SpeakerErrorKind: String, FailureKind {
  /// No device or group has that name, or several have that part of a name.
  case unknown = "speaker.unknown"
  /// A value outside its range.
  case range = "speaker.range"
  /// `play` on a session without an available member.
  case noActiveDevice = "speaker.no_active_device"
  /// `resume` of a session that is not paused.
  case notPaused = "speaker.not_paused"
  /// `seek` when nothing plays, or in a source that can't be repositioned.
  case noSeek = "speaker.no_seek"
  /// `next` or `previous` when no queue or file plays.
  case noQueue = "speaker.no_queue"
  /// A `play` that will never sound: `stop`, `close` or another `play` came while it was opening.
  case superseded = "speaker.superseded"
  /// A capability that the driver lacks.
  case unsupported = "speaker.unsupported"
  /// The house is not open (any more).
  case closed = "speaker.closed"
  /// Another process drives the house.
  case busy = "speaker.busy"
  /// A speaker that can't be reached.
  case unavailable = "speaker.unavailable"
  /// A new name or group of a playing speaker, which stopped it; reported by an `error` event.
  case renamedWhilePlaying = "speaker.renamed_while_playing"
  /// A speaker is in a session of higher priority.
  case outranked = "speaker.outranked"
  /// The driver has no room for one more session.
  case noStream = "speaker.no_stream"
  /// More requests in a moment than the house can perform.
  case flooded = "script.flooded"
  /// A speaker or its sound card went away while it was in use.
  case lost = "speaker.lost"
}
