internal import EventLoop
internal import HeadsetKit
internal import SpeakerKit

/// The causes of the last commands to speakers and sessions, which take effect later, and the state before them. Sessions
/// are kept by their ids, of which there are a few.
struct ChangeOrigins {
  /// The time within which a command to a speaker takes effect. A later change is another client's.
  private static let longest = Duration.seconds(5)

  /// The cause of a command and its moment.
  private struct Command {
    let cause: Cause?
    let at: Instant
  }

  /// The state of a speaker, as last reported.
  struct Known {
    var volume: Int
    var isMuted: Bool
    var name: String
    var group: String
  }

  private var levels: [ObjectIdentifier: Command] = [:]
  private var edits: [DeviceReason: [ObjectIdentifier: Command]] = [:]
  private var moves: [ObjectIdentifier: Command] = [:]
  private var playing: [SessionID: Command] = [:]
  /// The causes of changes of sessions that are not reported yet, in order.
  private var pending: [Cause?] = []
  private var sounds: [SessionID: Command] = [:]
  private var headsets: [ObjectIdentifier: Command] = [:]
  /// The state of speakers.
  var known: [ObjectIdentifier: Known] = [:]
  /// The last interruption of each speaker.
  var interruptions: [ObjectIdentifier: String] = [:]
  /// The last failure of each session.
  var failures: [SessionID: String] = [:]
  /// The ids of the last speakers of each session.
  var members: [SessionID: [String]] = [:]

  /// Keeps the cause of a command.
  mutating func keep(_ command: HouseCommand, by cause: Cause?, at now: Instant) {
    let origin = Command(cause: cause, at: now)
    switch command {
    case .level(let commands, _):
      for (device, command) in commands where command != .fadeEnd {
        levels[ObjectIdentifier(device)] = origin
      }
    case .edit(let device, let reason): edits[reason, default: [:]][ObjectIdentifier(device)] = origin
    case .move(let device): moves[ObjectIdentifier(device)] = origin
    case .play(let session), .stop(let session), .resume(let session):
      playing[session.id] = origin
    case .sound(let session):
      sounds[session.id] = origin
      pending.append(cause)
    }
  }

  /// Keeps the cause of a command to a headset.
  mutating func keep(headset: Headset, by cause: Cause?, at now: Instant) {
    headsets[ObjectIdentifier(headset)] = Command(cause: cause, at: now)
  }

  /// Returns the cause of a change of a speaker's level; `.none` if no command is recent enough.
  func level(_ device: Device, at now: Instant) -> Cause?? {
    Self.recent(levels[ObjectIdentifier(device)], now)
  }
  /// Returns the cause of a change of a speaker's name, group, role or balance; `.none` as above.
  func edit(_ device: Device, _ reason: DeviceReason, at now: Instant) -> Cause?? {
    Self.recent(edits[reason]?[ObjectIdentifier(device)], now)
  }
  /// Returns the cause of an event of a headset; `.none` as above. An update and a restart are the cause as long as they
  /// last.
  func headset(_ headset: Headset, at now: Instant) -> Cause?? {
    let command = headsets[ObjectIdentifier(headset)]
    guard headset.isBusy, let command else { return Self.recent(command, now) }
    return .some(command.cause)
  }
  /// Returns the cause of a speaker's last move to or from a session.
  func move(_ device: Device) -> Cause? { moves[ObjectIdentifier(device)]?.cause }
  /// Returns the cause of the last command to play, pause or stop.
  func play(_ session: Session) -> Cause? { playing[session.id]?.cause }
  /// Removes and returns the cause of the next change of a session that is reported.
  mutating func removePending() -> Cause? { pending.isEmpty ? nil : pending.removeFirst() }
  /// Returns the cause of the last change of a session's sound.
  func sound(_ session: Session) -> Cause? { sounds[session.id]?.cause }

  private static func recent(_ command: Command?, _ now: Instant) -> Cause?? {
    guard let command, command.at.duration(to: now) <= longest else { return .none }
    return .some(command.cause)
  }
}
