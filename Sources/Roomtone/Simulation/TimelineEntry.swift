public import AudioCore
internal import EventLoop
public import HeadsetKit
public import Home
public import Scheduling
public import SpeakerKit

/// A moment of a time line, as the clocks of the house show it.
public struct TimelineTime: Sendable, Equatable, CustomStringConvertible {
  /// The date and the time of day.
  public let local: LocalDateTime
  /// The seconds that the zone is ahead of UTC then.
  public let offset: Int

  /// A moment at which clocks that are `offset` seconds ahead of UTC show `local`.
  public init(_ local: LocalDateTime, offset: Int) { (self.local, self.offset) = (local, offset) }

  init(_ time: WallTime, in zone: any LocalZone) {
    self.init(zone.local(time), offset: zone.offset(at: Int(time.seconds)))
  }

  /// The local time without its offset: `2026-01-05 06:45`.
  public var description: String { "\(local)" }
}

/// An entry of a time line: something that happened in the house, when and where. The text of a line and the object of
/// `--json` are both made from it.
public struct TimelineEntry: Sendable, Equatable {
  /// The moment at which it began.
  public let time: TimelineTime
  /// The rooms or speakers, with commas between them; `Headset`, `Recorder`; empty for no place.
  public let room: String
  /// The name of the job that it concerns, or whose run has caused it; nil for none.
  public let job: String?
  /// The event.
  public let event: TimelineEvent
  /// The cause; nil for what has none, or is its own.
  public let cause: Cause?

  /// An entry of a time line.
  public init(
    time: TimelineTime, room: String, job: String? = nil, event: TimelineEvent, cause: Cause? = nil
  ) {
    (self.time, self.room, self.job, self.event, self.cause) = (time, room, job, event, cause)
  }

  /// The kind of the event.
  public var kind: TimelineEvent.Kind { event.kind }
  /// The text of the line, without time and room.
  public var text: String { event.text(job: job) }
}

/// An event of a time line. Names and units of the fields are those of the objects that `--json` prints.
public enum TimelineEvent: Sendable, Equatable {
  /// The volumes at which a session plays.
  public enum Level: Sendable, Equatable {
    /// No speaker of it can be reached.
    case none
    /// All its speakers are muted.
    case muted
    /// The lowest and the highest volume among the speakers that are heard.
    case volumes(Int, Int)
  }

  /// The state of a recording.
  public enum RecordingPhase: Sendable, Equatable {
    case begin
    /// The recording has ended, with that many seconds of sound.
    case end(seconds: Double)
    case failure(message: String, code: String)
  }

  /// The state of an interruption.
  public enum InterruptionPhase: String, Sendable { case begin, end }

  /// A count for the end of the time line.
  public enum Summary: Sendable, Equatable {
    /// A job, by `TimelineEntry.job`: its runs, those that failed, were skipped and were missed, and the time of the
    /// next run, nil when none is scheduled.
    case job(runs: Int, failures: Int, skipped: Int, missed: Int, next: TimelineTime?)
    /// A source that was never heard.
    case unheard(sources: [String])
    /// The number of runs of all jobs, of failures and of warnings.
    case total(runs: Int, failures: Int, warnings: Int)
  }

  /// A source plays, also again after a pause: `source`, `volume`, `volume_most` if speakers differ, `muted`.
  case play(source: String, Level)
  /// A session is paused: `source`.
  case pause(source: String)
  /// A source has ended: `source`, `reason` (`finished`, `stopped`, `failed`, `no_devices`).
  case stop(source: String, EndReason)
  /// A volume changes: `from`, `to`, `over` seconds for a fade, as it was requested, or up to its end where something else
  /// ends it before; for small changes one after the other their number, `steps`, and the seconds from the first to the
  /// last.
  case volume(from: Int, to: Int, over: Duration, steps: Int = 1)
  /// Speakers are muted, or muted ones get another volume: `muted`, `volume`.
  case mute(volume: Int, wasMuted: Bool)
  /// Speakers are unmuted: `muted`, `volume`.
  case unmute(volume: Int)
  /// The gain of a session moves: `from`, `to` in dB, `over` seconds of playback, as those of a volume; of a stream: `to`, `stream`.
  case gain(from: Double, to: Double, over: Duration)
  case streamGain(to: Double)
  /// A session has another equalizer: `preset` if it has a name, `bands` in dB by their frequency in Hz.
  case equalizer(EqualizerGains)
  /// The position moves to a second of the source, or by seconds: `to` or `by`.
  case seek(to: Int)
  case move(by: Double)
  /// Speakers join what plays: `source`. Speakers leave it.
  case join(source: String)
  case leave
  /// Speakers can't be reached, or again.
  case away, back
  /// A speaker has another name: `to`.
  case rename(to: String)
  /// A speaker is in another group: `to`; nil for none.
  case group(to: String?)
  /// An interruption begins or ends, such as an announcement: `phase`, `name`; with `duck` what plays goes on under it, so
  /// many dB lower.
  case interruption(InterruptionPhase, name: String, duck: Double? = nil)
  /// A recording begins, ends or fails: `phase`, `path`, `seconds`, `message`, `code`.
  case recording(RecordingPhase, path: String)
  /// A station sends a title, or a queue comes to a file: `title`.
  case title(String)
  /// A looped queue begins again with a file: `title`, `count` rounds with nothing between them, and the beginning of the
  /// last, `until`.
  case round(title: String, count: Int, until: TimelineTime)
  /// A station is connected again: `gap` in seconds of sound that are missing.
  case reconnect(gap: Double)
  /// A job runs: `count` runs with nothing between them, and the start of the last, `until`.
  case run(count: Int, until: TimelineTime)
  /// A run is left out: `due`, `requested` if a script asked for that.
  case skipped(due: TimelineTime, isRequested: Bool)
  /// A run was due too long ago: `due`.
  case missed(due: TimelineTime)
  /// A run has failed: `message`, `code`, `in_row` for the number of failures in a row.
  case failed(message: String, code: String?, inRow: Int)
  /// The sun has no event for a job from a date on: `date`, `next`.
  case withoutSun(from: CalendarDate, next: TimelineTime?)
  /// An event of a headset: `change`, and by it `name`, `reason`, `on`, `left`, `right`, `preset`, `values`, `version`,
  /// `percent`, `charging`, `message`, `code`.
  case headset(HeadsetEvent, name: String?)
  /// A line that the script prints: `message`.
  case print(String)
  /// A line of the log: `level`, `message`, `fields`.
  case log(LogLevel, String, [Field])
  /// A failure of the house, a speaker or a station: `message`, `code`.
  case error(message: String, code: String)
  /// An error that no code of the script caught: `message` with its place, `code`.
  case failure(message: String, code: String)
  /// Something that is probably not as intended: `message`, `jobs` that it concerns.
  case warning(String, jobs: [String])
  /// A mark: an alarm of the library rings or plays another source, an announcement, a trigger that comes: `message`,
  /// `source`.
  case mark(Mark, message: String, source: String?)
  /// A line of the summary: `about`, and by it `runs`, `failures`, `skipped`, `missed`, `next`, `source`, `warnings`.
  case summary(Summary)

  /// A field of a line of the log.
  public struct Field: Sendable, Equatable {
    /// The name.
    public let name: String
    /// The value as text.
    public let value: String
  }

  /// The kinds of marks that the library sets.
  public enum Mark: String, Sendable, CaseIterable { case alarm, fallback, announcement, trigger }

  /// The kinds of events, by the names of `--json`.
  public enum Kind: String, Sendable, CaseIterable {
    case play, pause, stop, volume, mute, gain, equalizer, seek, join, leave, away, back, rename, group
    case interruption, recording, title, reconnect
    case run, skipped, missed, failed, sun
    case headset, print, log, error, failure, warning
    case alarm, fallback, announcement, trigger
    case summary
  }

  /// `true` if something has caused the event that its line does not tell.
  var hasCause: Bool {
    switch self {
    case .title, .round, .reconnect, .print, .log, .error, .failure, .warning, .mark, .summary, .run, .failed,
      .missed,
      .skipped(_, isRequested: false), .withoutSun:
      false
    default: true
    }
  }

  /// The kind of the event.
  public var kind: Kind {
    switch self {
    case .play: .play
    case .pause: .pause
    case .stop: .stop
    case .volume: .volume
    case .mute, .unmute: .mute
    case .gain, .streamGain: .gain
    case .equalizer: .equalizer
    case .seek, .move: .seek
    case .join: .join
    case .leave: .leave
    case .away: .away
    case .back: .back
    case .rename: .rename
    case .group: .group
    case .interruption: .interruption
    case .recording: .recording
    case .title, .round: .title
    case .reconnect: .reconnect
    case .run: .run
    case .skipped: .skipped
    case .missed: .missed
    case .failed: .failed
    case .withoutSun: .sun
    case .headset: .headset
    case .print: .print
    case .log: .log
    case .error: .error
    case .failure: .failure
    case .warning: .warning
    case .mark(.alarm, _, _): .alarm
    case .mark(.fallback, _, _): .fallback
    case .mark(.announcement, _, _): .announcement
    case .mark(.trigger, _, _): .trigger
    case .summary: .summary
    }
  }
}
