internal import AudioCore
internal import EventLoop
internal import Home
public import Scheduling
internal import SpeakerKit
internal import StreamKit

/// Publishes what happens in a house, a line each, in order of time: `06:45:00  Bedroom  ▶ wake_up.mp3 at volume 5`.
///
/// Speakers of one group that do the same are one room; steps of a volume that follow one another within three seconds
/// are one line. Confined to the loop.
public final class Timeline {
  /// A line of the time line.
  public struct Entry: Sendable, Equatable {
    /// The time at which it began.
    public let time: LocalDateTime
    /// The seconds that the zone is ahead of UTC then.
    public let offset: Int
    /// True for a line that the script printed or wrote.
    public let isPrinted: Bool
    /// Rooms or speakers; empty for what concerns none.
    public let room: String
    /// The text of the line.
    public let text: String
  }

  /// Receives the lines, each when it is complete.
  public var onEntry: (Entry) -> Void = { _ in }

  private let loop: EventLoop
  private let zone: any LocalZone
  private var lines = TimelineLines()
  private weak var house: House?
  private var levels: [String: (volume: Int, isMuted: Bool)] = [:]
  /// Runs of jobs that have not ended: when they began, and how many lines there were then.
  private var runs: [(job: ObjectIdentifier, name: String, time: (LocalDateTime, Int, Instant), lines: Int)] =
    []

  /// Follows the house of `engine`, from its opening on.
  public init(_ engine: Engine) {
    loop = engine.loop
    zone = engine.options.zone
    engine.house.onOpen = { [unowned self] in follow($0) }
    engine.streams.onEvent = { [unowned self] in receive($0, $1) }
    engine.streams.onChange = { [unowned self] in receive($0, $1) }
    engine.recordings.onReport = { [unowned self] in receive($0) }
    engine.onJob = { [unowned self] in receive($0, $1) }
    follow(engine.headsets.headsets)
  }

  /// The wall-clock time of the house.
  public var now: LocalDateTime { zone.local(loop.wallNow) }

  private var time: (LocalDateTime, Int, Instant) {
    let now = loop.wallNow
    return (zone.local(now), zone.offset(at: Int(now.seconds)), loop.now)
  }

  /// Adds a line that the script printed or wrote.
  public func addPrinted(_ text: String) {
    lines.addPrinted(text, at: time)
    publish(lines.removeComplete(at: loop.now))
  }

  func add(_ text: String, room: String = "") {
    lines.add(text, room: room, at: time)
    publish(lines.removeComplete(at: loop.now))
  }

  private func add(_ text: String, _ device: Device) {
    lines.add(text, speaker: device.name, of: room(of: device), at: time)
    publish(lines.removeComplete(at: loop.now))
  }

  private func publish(_ entries: [Entry]) { for entry in entries { onEntry(entry) } }

  /// Completes what is still open; the last call.
  public func finish() {
    for run in runs { addQuietRun(run) }
    runs = []
    publish(lines.removeComplete(at: nil))
  }

  private func follow(_ house: House) {
    self.house = house
    for device in house.devices { levels[device.id] = (device.volume, device.isMuted) }
    house.events.on { [unowned self] event in receive(event) }
    house.onSessionChange = { [unowned self] in receive($0, $1) }
  }

  private func receive(_ event: HouseEvent) {
    switch event {
    case .volume(let device, let volume, let muted, _, _): self.volume(of: device, volume, muted)
    case .device(let device, .added): levels[device.id] = (device.volume, device.isMuted)
    case .device(let device, .joined) where device.session?.state == .playing:
      add("joins \(quoted(device.session?.source))", device)
    case .device(let device, .left): add("leaves", device)
    case .device(let device, .unavailable): add("is away", device)
    case .device(let device, .available): add("is back", device)
    // Interruptions, and the speakers that join and leave, have lines of their own.
    case .device, .time, .suspension: break
    case .state(.playing, let session):
      add("▶ \(quoted(session.source)) \(level(of: session))", room: rooms(of: session))
    case .state(.paused, let session): add("⏸ paused", room: rooms(of: session))
    case .state(.stopped, _): break
    case .ended(let session, let source, let reason):
      if reason != .replaced {
        add("■ \(source.title) \(Self.words[reason] ?? reason.rawValue)", room: rooms(of: session))
      }
    case .error(let code, let message, let device, _):
      if let device { add("! \(message) (\(code))", device) } else { add("! \(message) (\(code))") }
    }
  }

  private func receive(_ session: Session, _ change: SessionChange) {
    let text =
      switch change {
      case .gain(let from, let to, let over):
        over > .zero
          ? "gain \(Self.tenths(from)) → \(Self.tenths(to)) dB over \(DurationText.describe(over))"
          : "gain \(Self.tenths(to)) dB"
      case .equalizer(let gains): "equalizer \(Self.text(of: gains))"
      case .seek(let frame): "seeks to \(Self.position(frame / session.format.sampleRate))"
      }
    add(text, room: rooms(of: session))
  }

  /// The number with one decimal place, without it when it is whole.
  private static func tenths(_ number: Double) -> String {
    let tenths = (number * 10).rounded() / 10
    return tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
  }

  /// The name of a preset, or the bands that are not at 0 dB.
  private static func text(of gains: EqualizerGains) -> String {
    if let preset = EqualizerGains.presets.first(where: { $0.gains == gains }) { return preset.name }
    return zip(EqualizerGains.bands, gains.decibels).filter { $0.1 != 0 }
      .map { "\($0) Hz \($1 > 0 ? "+" : "")\(tenths($1)) dB" }.joined(separator: ", ")
  }

  /// `1:05`, `1:00:05`
  private static func position(_ seconds: Int) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
    return (hours > 0 ? "\(hours):\(two(minutes))" : "\(minutes)") + ":\(two(seconds % 60))"
  }

  // MARK: Jobs

  private func receive(_ job: Job, _ event: JobEvent) {
    let id = ObjectIdentifier(job)
    switch event {
    case .started: runs.append((id, job.name, time, lines.count))
    case .succeeded, .failed:
      guard let index = runs.firstIndex(where: { $0.job == id }) else { return }
      let run = runs.remove(at: index)
      // What failed is reported with its reason elsewhere.
      if event == .succeeded { addQuietRun(run) }
    case .skipped, .missed, .omitted, .queued, .failing, .withoutSun, .ended: break
    }
  }

  /// Adds a line for a run during which nothing was to be seen.
  private func addQuietRun(
    _ run: (job: ObjectIdentifier, name: String, time: (LocalDateTime, Int, Instant), lines: Int)
  ) {
    guard run.lines == lines.count else { return }
    lines.addRun(of: run.name, at: run.time)
    publish(lines.removeComplete(at: loop.now))
  }

  private func receive(_ event: StationEvent, _ session: Session?) {
    let room = session.map(rooms) ?? ""
    switch event {
    case .title(let text): add("♪ \(text)", room: room)
    case .failed(let error): add("! \(error.message) (\(error.code))", room: room)
    case .reconnected(let gap):
      let tenths = Int((gap * 10).rounded())
      add(
        "connected again, "
          + (tenths > 0 ? "\(tenths / 10).\(tenths % 10) s are missing" : "nothing is missing"), room: room)
    }
  }

  private func receive(_ change: StreamChange, _ session: Session?) {
    let text: String
    switch change {
    case .gain(let gain): text = "the stream's gain \(Self.tenths(gain)) dB"
    case .position(let seconds):
      guard abs(seconds) >= 0.05 else { return }
      text = "moves \(seconds < 0 ? "back" : "forward") \(Self.tenths(abs(seconds))) s"
    }
    add(text, room: session.map(rooms) ?? "")
  }

  private static let words: [EndReason: String] = [
    .finished: "has ended", .stopped: "is stopped", .failed: "has failed", .noDevices: "has no speaker left",
  ]

  private func quoted(_ source: SourceInfo?) -> String { source?.title ?? "nothing" }

  private func room(of device: Device) -> TimelineLines.Room {
    guard device.groupName != Group.ungrouped else { return .init(name: device.name, size: 1) }
    let size = house?.devices.count { $0.groupName == device.groupName } ?? 1
    // One that was removed is in the house no more.
    return .init(name: device.groupName, size: max(1, size))
  }

  private func rooms(of session: Session) -> String {
    house?.rooms(of: session.devices).joined(separator: ", ") ?? ""
  }

  private func level(of session: Session) -> String {
    let devices = session.devices.filter(\.isAvailable)
    let levels = devices.filter { !$0.isMuted }.map(\.volume).sorted()
    guard let least = levels.first, let most = levels.last else {
      return devices.isEmpty ? "at no volume" : "muted"
    }
    return least == most ? "at volume \(least)" : "at volume \(least) to \(most)"
  }

  private func volume(of device: Device, _ volume: Int, _ isMuted: Bool) {
    let before = levels.updateValue((volume, isMuted), forKey: device.id) ?? (volume, isMuted)
    if isMuted { return add(before.isMuted ? "volume \(volume), muted" : "muted", device) }
    if before.volume == volume { return add("volume \(volume)", device) }
    lines.addVolume(
      from: before.isMuted ? 0 : before.volume, to: volume, speaker: device.name, of: room(of: device),
      at: time)
    publish(lines.removeComplete(at: loop.now))
  }
}
