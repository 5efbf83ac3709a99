internal import AudioCore
internal import EventLoop
internal import HeadsetKit
internal import SpeakerKit

/// The causes of the last commands to speakers, sessions and headsets, which take effect later, and the state
/// before them. Sessions are kept by their ids, whose number is small. A class, so that a look-up does not
/// copy its contents.
final class JournalOrigins {
  /// The cause of a command and its moment.
  fileprivate struct Command {
    /// The time within which a command takes effect. A later change is another client's.
    private static let longest = Duration.seconds(5)

    let cause: Cause?
    let at: Instant

    /// The cause, while the command may take effect; `.none` afterwards.
    func recent(at now: Instant) -> Cause?? {
      at.duration(to: now) <= Self.longest ? .some(cause) : .none
    }
  }

  /// The causes of the last commands to a speaker, and its state as last reported.
  final class Speaker {
    fileprivate var level: Command?
    fileprivate var edits: [DeviceReason: Command] = [:]
    /// The cause of its last move to or from a session.
    var move: Cause?
    /// `true` while the speaker is away because the house has lost its connection.
    var isLost = false
    /// The name of its last interruption; nil before the first.
    var interruption: String?
    var volume: Int
    var isMuted: Bool
    /// The number of the last recorded change of its level, which a step may continue; nil before the first
    /// since the speaker is known.
    var levelChange: Int?
    fileprivate(set) var name: String
    fileprivate(set) var group: String

    fileprivate init(_ device: Device) {
      (volume, isMuted, name, group) = (device.volume, device.isMuted, device.name, device.groupName)
    }

    /// Returns the cause of a change of its level; `.none` if no command is recent enough.
    func level(at now: Instant) -> Cause?? { level?.recent(at: now) }

    /// Returns the cause of a change of its name, group, role or balance; `.none` as for `level(at:)`.
    func edit(_ reason: DeviceReason, at now: Instant) -> Cause?? { edits[reason]?.recent(at: now) }
  }

  private var speakers: [ObjectIdentifier: Speaker] = [:]
  private var playing: [SessionID: Command] = [:]
  /// The last commands to sessions and their speakers.
  private var commands: [SessionID: Command] = [:]
  /// The causes of changes of sessions that are not reported yet, in order.
  private var pending: [Cause?] = []
  private var sounds: [SessionID: Command] = [:]
  private var headsets: [ObjectIdentifier: Command] = [:]
  /// The numbers of the entries of sessions whose gain moves.
  var gains: [SessionID: JournalEntry] = [:]
  /// The loss of the connection to all speakers that is being delivered now; nil otherwise.
  var loss: String?
  /// The last failure of each session.
  var failures: [SessionID: String] = [:]
  /// The ids of the last speakers of each session.
  var members: [SessionID: [String]] = [:]

  /// The record of a speaker, which begins with its present state.
  subscript(device: Device) -> Speaker {
    if let speaker = speakers[ObjectIdentifier(device)] { return speaker }
    let speaker = Speaker(device)
    speakers[ObjectIdentifier(device)] = speaker
    return speaker
  }

  /// Keeps the name and the group of a speaker, but not its level, whose change is reported by a later event.
  func know(_ device: Device, _ state: SpeakerState) {
    let speaker = self[device]
    (speaker.name, speaker.group) = (state.name, state.group)
  }

  /// Drops the record of a removed speaker.
  func forget(_ device: Device) { speakers[ObjectIdentifier(device)] = nil }

  /// Keeps the cause of a command.
  func keep(_ command: HouseCommand, by cause: Cause?, at now: Instant) {
    let origin = Command(cause: cause, at: now)
    switch command {
    // The volume that was asked for keeps its cause, also while a limit changes its effect.
    case .level(_, by: .limit): break
    case .level(let commands, _):
      for (device, command) in commands where command != .fadeEnd {
        self[device].level = origin
      }
    case .edit(let device, let reason): self[device].edits[reason] = origin
    case .move(let device):
      self[device].move = cause
      if let session = device.session { commands[session.id] = origin }
    case .play(let session), .stop(let session), .resume(let session):
      playing[session.id] = origin
      commands[session.id] = origin
    case .sound(let session):
      sounds[session.id] = origin
      pending.append(cause)
    }
  }

  /// Keeps the cause of a command to a headset.
  func keep(headset: Headset, by cause: Cause?, at now: Instant) {
    headsets[ObjectIdentifier(headset)] = Command(cause: cause, at: now)
  }

  /// Returns the cause of an event of a headset; `.none` if no command is recent enough. An update or a
  /// restart is the cause of all events until its end.
  func headset(_ headset: Headset, at now: Instant) -> Cause?? {
    guard let command = headsets[ObjectIdentifier(headset)] else { return .none }
    return headset.isBusy ? .some(command.cause) : command.recent(at: now)
  }
  /// Returns the cause of the last command to play, pause or stop.
  func play(_ session: Session) -> Cause? { playing[session.id]?.cause }
  /// Returns the cause of the last command to play, pause or stop, or to remove a speaker.
  func command(_ session: Session) -> Cause? { commands[session.id]?.cause }
  /// Removes and returns the cause of the next change of a session that is reported.
  func removePending() -> Cause? { pending.isEmpty ? nil : pending.removeFirst() }
  /// Returns the cause of the last change of a session's sound.
  func sound(_ session: Session) -> Cause? { sounds[session.id]?.cause }
}

/// The properties of a speaker at the moment of an event, which later changes may have replaced when it is delivered.
struct SpeakerState {
  let name: String
  let group: String
  let role: String
  let balance: Int
  /// The name of its session; empty without one.
  let session: String

  /// The present properties of a speaker.
  init(_ device: Device) {
    (name, group, role) = (device.name, device.groupName, device.role.rawValue)
    (balance, session) = (device.balance, device.session?.name ?? "")
  }
}

/// The circumstances in which events of a house other than levels were emitted, which are delivered later.
struct EmittedEvents {
  struct Event {
    /// The cause in whose task it was emitted; nil without one.
    let cause: Cause?
    /// The speaker of the event at that moment; nil without one.
    let state: SpeakerState?
  }

  /// The events that are not delivered yet, in order.
  private var waiting: [Event] = []
  /// The event that was delivered last, or is now; nil before the first.
  private(set) var current: Event?

  /// Adds an event that is emitted now.
  mutating func append(_ cause: Cause?, _ device: Device?) {
    waiting.append(Event(cause: cause, state: device.map { SpeakerState($0) }))
  }

  /// Makes the next event the one that is delivered now.
  mutating func advance() { current = waiting.isEmpty ? nil : waiting.removeFirst() }
}
