public import EventLoop

/// A change of the house, or something that did not happen, with its cause.
public struct Change: Sendable {
  /// The kinds of changes, by the names of `speaker.history` and of the control socket.
  public enum Kind: String, Sendable, CaseIterable {
    /// A level, `from` and `to`.
    case volume
    case mute, unmute
    /// A speaker comes into the session `to`, or leaves the session `from`.
    case join, leave
    /// A session plays `to`, is paused, or its source `from` has ended; the reason is `detail`.
    case play, pause, stop
    /// An interruption `detail` takes all speakers of a session, and gives them back.
    case suspend, resume
    /// An interruption begins and ends.
    case interrupt, release
    /// A name, a group, a role, a balance, `from` and `to`.
    case name, group, role, balance
    /// A speaker can't be reached, or again; it is new in the house, or gone for good.
    case away, back, added, removed
    /// The equalizer, the gain in dB, the position in seconds of a session: `to`.
    case equalizer, gain, seek
    /// A recording begins, is complete, or fails for `detail`.
    case recording, recorded, unrecorded
    /// A setting or the connection of a headset: `detail`.
    case headset
    /// A job runs, fails for `detail`, is cancelled.
    case run, failed, cancelled
    /// A run of a job for the moment `to` is skipped as the one before has not ended, missed for `detail`, left out as
    /// somebody wanted.
    case skipped, missed, omitted
    /// The sun has no event for a job: `detail`.
    case sunless
    /// An alarm rings, snoozes, is dismissed or could not ring: `detail`.
    case alarm
    /// A script starts, ends, or its file is gone.
    case started, ended, gone
    /// A script does not compile while its last version runs, or does not run at all, for `detail`.
    case stale, broken
    /// A trigger comes; `to` is the number of its listeners.
    case trigger
    /// A command is refused: `detail`.
    case refused
    /// The daemon begins and ends.
    case up, down
  }

  /// The kinds of things that change.
  public enum Subject: String, Sendable {
    case speaker, session, recording, headset, job, script, trigger, house
  }

  /// A value before or after a change.
  public enum Value: Sendable, Equatable {
    case none
    case number(Int)
    case decimal(Double)
    case text(String)
    case time(WallTime)

    /// The value with the beginning of a long text.
    var excerpt: Value { if case .text(let text) = self { .text(text.excerpt) } else { self } }
  }

  /// The bytes of the texts of the change and its causes, and of their other parts about.
  var size: Int {
    var size =
      256 + name.utf8.count + (detail?.utf8.count ?? 0) + speakers.reduce(0) { $0 + 16 + $1.utf8.count }
    for case .text(let text) in [from, to] { size += text.utf8.count }
    return size + (cause?.size ?? 0)
  }

  /// The number of the change in its process, from 1 on.
  public let number: Int
  /// The moment; of steps that belong together, that of the first.
  public let at: WallTime
  /// The moment of the last step.
  public internal(set) var until: WallTime
  /// The kind.
  public let kind: Kind
  /// The kind of the thing that changes.
  public let subject: Subject
  /// The name of the thing.
  public let name: String
  /// The ids of the speakers that it concerns.
  public let speakers: [String]
  /// The value before.
  public let from: Value
  /// The value after.
  public internal(set) var to: Value
  /// More, by the kind.
  public let detail: String?
  /// The cause; nil where none is known.
  public let cause: Cause?
  /// The number of equal changes that it stands for.
  public internal(set) var count = 1

  /// The time within which a step continues a change: a fade is one change.
  private static let longestStep = Duration.seconds(60)

  /// Adds a step, if it is one of the same call: with an equal detail, and a level on in the same direction.
  /// - Returns: `false` if the step is a change of its own.
  mutating func add(_ step: Value, detail: String?, cause: Cause, at now: WallTime) -> Bool {
    guard let earlier = self.cause, cause.repeats(earlier), self.detail == detail,
      until.duration(to: now) <= Self.longestStep, kind != .volume || isContinued(by: step)
    else { return false }
    (to, until, count) = (step, now, count + 1)
    return true
  }

  /// Returns `true` if a level moves on in the same direction.
  private func isContinued(by step: Value) -> Bool {
    guard case .number(let first) = from, case .number(let last) = to, case .number(let next) = step
    else { return false }
    return (last - first).signum() == (next - last).signum()
  }
}

/// A selection of changes.
public struct ChangeFilter: Sendable {
  /// The ids of speakers; nil for all changes.
  public var speakers: Set<String>?
  /// The kinds; nil for all.
  public var kinds: Set<Change.Kind>?
  /// The name of the thing, which may be of any kind; nil for all.
  public var name: String?
  /// The earliest moment; nil for any.
  public var since: WallTime?
  /// The most changes, the latest ones.
  public var limit = 1000

  /// All changes, the latest thousand.
  public init() {}

  /// Returns `true` if the change is selected.
  public func selects(_ change: Change) -> Bool {
    if let since, change.until < since { return false }
    if let kinds, !kinds.contains(change.kind) { return false }
    if let name, change.name != name { return false }
    if let speakers, !change.speakers.contains(where: speakers.contains) { return false }
    return true
  }
}
