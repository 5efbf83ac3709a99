public import EventLoop
public import JSONText

/// An entry of the journal: something that happened in the house, or did not happen, with its cause.
public struct JournalEntry: Sendable {
  /// The kinds of entries: first those that are kept, by the names of `speaker.history` and of the control socket.
  public enum Kind: String, Sendable, CaseIterable {
    /// A level, `from` and `to`.
    case volume
    case mute, unmute
    /// A speaker comes into the session `to`, or leaves the session `from`.
    case join, leave
    /// A session plays `to`, is paused, or its source `from` has ended; the reason is `detail`.
    case play, pause, stop
    /// An interruption `detail` takes all speakers out of a session, and returns them.
    case suspend, resume
    /// An interruption begins and ends.
    case interrupt, release
    /// A name, a group, a role, a balance, `from` and `to`.
    case name, group, role, balance
    /// A speaker can't be reached, or can again; it is new in the house, or removed for good.
    case away, back, added, removed
    /// The equalizer, the gain in dB, the position in seconds of a session: `to`.
    case equalizer, gain, seek
    /// A recording begins, is complete, or fails for `detail`.
    case recording, recorded, unrecorded
    /// A setting or the connection of a headset: `detail`.
    case headset
    /// A job runs, fails for `detail`, is cancelled.
    case run, failed, cancelled
    /// A run of a job for the moment `to` is skipped or missed for `detail`, or left out on request.
    case skipped, missed, omitted
    /// The sun has no event for a job up to `to`: `detail`.
    case sunless
    /// An alarm rings, snoozes, is dismissed or could not ring: `detail`.
    case alarm
    /// A script starts, ends, or its file is removed.
    case started, ended, gone
    /// A script does not compile while its last version runs, or does not run at all, for `detail`.
    case stale, broken
    /// A trigger comes; `to` is the number of its listeners.
    case trigger
    /// A command is refused: `detail`.
    case refused
    /// The daemon begins and ends.
    case up, down

    // The kinds of entries that are reported, and not kept.

    /// A station sends the title `to`, or a queue comes to a file; a looped queue begins again with it.
    case title, round
    /// A station is connected again.
    case reconnect
    /// A failure of the house, a speaker or a station: `detail`.
    case error
    /// The runs of a job fail, `to` in a row.
    case failing
    /// A stream is followed, or heard with the number 1 in `to`.
    case source
    /// An alarm plays another source, an announcement is spoken, or the source `detail` was heard to its end, though the
    /// host stops it.
    case fallback, announcement, heard
    /// A script prints or logs `detail`, or raises an error that it does not catch.
    case print, log, failure
    /// A simulation sends a message of MQTT: `to`.
    case message
    /// Something that is probably not as intended, and a count at the end.
    case warning, summary

    /// `true` for the kinds that the history has.
    public var isKept: Bool {
      switch self {
      case .title, .round, .reconnect, .error, .failing, .source, .fallback, .announcement, .heard, .print,
        .log,
        .failure, .message, .warning, .summary:
        false
      default: true
      }
    }

    /// The names of the kinds that the history has.
    public static var keptNames: [String] { allCases.filter(\.isKept).map(\.rawValue) }
  }

  /// The kinds of things that entries are about.
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

  /// A named value of an entry beyond `from`, `to` and `detail`, for programs.
  public struct Fact: Sendable {
    /// The name.
    public let name: String
    /// The value.
    public let value: JSON

    /// A fact.
    public init(_ name: String, _ value: JSON) { (self.name, self.value) = (name, value) }

    /// The fact with the beginning of a long text.
    var excerpt: Fact {
      if case .string(let text) = value { Fact(name, .string(text.excerpt)) } else { self }
    }
  }

  /// The number of the entry in its process, from 1 on; 0 for an entry that is not kept.
  public let number: Int
  /// The moment; for steps that belong together, the moment of the first.
  public var at: WallTime
  /// The moment of the last step.
  public var until: WallTime
  /// The kind.
  public let kind: Kind
  /// The kind of the thing.
  public let subject: Subject
  /// The name of the thing.
  public let name: String
  /// The ids of the speakers that it concerns.
  public let speakers: [String]
  /// The value before.
  public var from: Value
  /// The value after.
  public var to: Value
  /// Further words, by the kind.
  public var detail: String?
  /// Further values, by the kind.
  public var facts: [Fact]
  /// The cause; nil if it is not known.
  public var cause: Cause?
  /// The number of equal entries that it represents.
  public var count = 1
  /// The id of the session in its house, as several may have one name; nil for other things, and in the archive.
  public var session: Int?
  /// The rooms or speakers, with commas between them, `Headset` or `Recorder`; set in time lines alone,
  /// otherwise empty.
  public var room = ""
  /// The name of the job that it concerns, or whose routine has caused it; set in time lines alone.
  public var job: String?

  /// An entry; without `until` it has one moment.
  public init(
    _ kind: Kind, of subject: Subject, _ name: String = "", at: WallTime, until: WallTime? = nil,
    number: Int = 0,
    speakers: [String] = [], from: Value = .none, to: Value = .none, detail: String? = nil,
    facts: [Fact] = [],
    cause: Cause? = nil, session: Int? = nil
  ) {
    (self.kind, self.subject, self.name, self.at, self.until) = (kind, subject, name, at, until ?? at)
    (self.number, self.speakers, self.from, self.to) = (number, speakers, from, to)
    (self.detail, self.facts, self.cause, self.session) = (detail, facts, cause, session)
  }

  /// Returns the fact called `name`; nil without one.
  public func fact(_ name: String) -> JSON? { facts.first { $0.name == name }?.value }

  /// Returns `true` if both report the same about two things, apart from their moments and causes.
  public func says(_ other: JournalEntry) -> Bool {
    kind == other.kind && from == other.from && to == other.to && detail == other.detail
      && facts.elementsEqual(other.facts) { $0.name == $1.name && $0.value.line == $1.value.line }
  }

  /// The bytes of the texts of the entry and its causes, and of their other parts about.
  var size: Int {
    var size =
      256 + name.utf8.count + (detail?.utf8.count ?? 0) + speakers.reduce(0) { $0 + 16 + $1.utf8.count }
    for case .text(let text) in [from, to] { size += text.utf8.count }
    return size + 64 * facts.count + (cause?.size ?? 0)
  }

  /// The time within which a step continues a change: a fade is one change.
  private static let longestStep = Duration.seconds(60)

  /// Adds a step, if it belongs to the same call: with an equal detail, and a level further in the same
  /// direction.
  /// - Returns: `false` if the step is a change of its own.
  mutating func add(_ step: Value, detail: String?, cause: Cause, at now: WallTime) -> Bool {
    guard let earlier = self.cause, cause.repeats(earlier), self.detail == detail,
      until.duration(to: now) <= Self.longestStep, kind != .volume || isContinued(by: step)
    else { return false }
    (to, until, count) = (step, now, count + 1)
    return true
  }

  /// Returns `true` if a level moves further in the same direction.
  private func isContinued(by step: Value) -> Bool {
    guard case .number(let first) = from, case .number(let last) = to, case .number(let next) = step
    else { return false }
    return (last - first).signum() == (next - last).signum()
  }
}

/// A selection of entries.
public struct JournalFilter: Sendable {
  /// The ids of speakers; nil for all.
  public var speakers: Set<String>?
  /// The kinds; nil for all.
  public var kinds: Set<JournalEntry.Kind>?
  /// The name of the thing, which may be of any kind; nil for all.
  public var name: String?
  /// The earliest moment; nil for any.
  public var since: WallTime?
  /// The most entries, the latest ones.
  public var limit = 1000

  /// All entries, the latest thousand.
  public init() {}

  /// Returns `true` if the entry is selected.
  public func selects(_ entry: JournalEntry) -> Bool {
    if let since, entry.until < since { return false }
    if let kinds, !kinds.contains(entry.kind) { return false }
    if let name, entry.name != name { return false }
    if let speakers, !entry.speakers.contains(where: speakers.contains) { return false }
    return true
  }
}
