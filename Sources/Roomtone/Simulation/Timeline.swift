internal import EventLoop
internal import LuaModules
public import Scheduling
internal import SpeakerKit

/// Tells what happens in a house, a line each, in order of time: `06:45:00  Bedroom  ▶ wake_up.mp3 at volume 5`.
///
/// Speakers of one group are one room; steps of a volume that follow one another within three seconds are one line.
/// Confined to the loop.
public final class Timeline {
  /// One line.
  public struct Entry: Sendable, Equatable {
    /// When it began.
    public let time: LocalDateTime
    /// Seconds that the zone is ahead of UTC then.
    public let offset: Int
    /// Group or speaker; empty for what concerns none.
    public let room: String
    /// What happened.
    public var text: String
  }

  /// Takes the lines, each when it is complete.
  public var onEntry: (Entry) -> Void = { _ in }

  private let loop: EventLoop
  private let zone: any LocalZone
  private var pending: [(entry: Entry, ramp: String?)] = []
  private var ramps: [String: Ramp] = [:]
  private var volumes: [String: Int] = [:]
  private var last: Entry?
  /// What the last connection of a stream failed with, by its rooms, until it comes again.
  private var outages: [String: String] = [:]

  private struct Ramp {
    let from: Int
    var to: Int
    let start: Instant
    var end: Instant
  }

  /// Follows the house of `engine`, from its opening on.
  public init(_ engine: Engine) {
    loop = engine.loop
    zone = engine.options.zone
    engine.house.onOpen = { [unowned self] in follow($0) }
    engine.streams.onNews = { [unowned self] in tell($0, $1) }
    engine.streams.onRecording = { [unowned self] in tell($0) }
    follow(engine.headsets.headsets)
  }

  /// Adds a line of the script's own.
  public func add(_ text: String, room: String = "") {
    closeSettledRamps()
    let entry = entry(text, room: room)
    // Both speakers of a pair do the same thing.
    if !room.isEmpty && entry == last { return }
    last = entry
    pending.append((entry, nil))
    flush()
  }

  private func entry(_ text: String, room: String) -> Entry {
    let now = loop.wallNow
    return Entry(time: zone.local(now), offset: zone.offset(at: Int(now.seconds)), room: room, text: text)
  }

  /// Completes what is still open; the last call.
  public func finish() { closeRamps { _ in true } }

  private func follow(_ house: House) {
    for device in house.devices { volumes[device.id] = device.volume }
    house.events.on { [unowned self] event in tell(event) }
  }

  private func tell(_ event: HouseEvent) {
    switch event {
    case .volume(let device, let volume, let muted, _): self.volume(of: device, volume, muted)
    case .device(let device, .joined) where device.session?.state == .playing:
      add("joins \(quoted(device.session?.source))", room: room(of: device))
    case .device(let device, .left): add("leaves", room: room(of: device))
    case .device(let device, .unavailable): add("is away", room: room(of: device))
    case .device(let device, .available): add("is back", room: room(of: device))
    // What interrupts tells of itself, and the speakers' going and coming tells the rest.
    case .device, .time, .suspension: break
    case .state(.playing, let session):
      add("▶ \(quoted(session.source)) at \(level(of: session))", room: rooms(of: session))
    case .state(.paused, let session): add("⏸ paused", room: rooms(of: session))
    case .state(.stopped, _): break
    case .ended(let session, let source, let reason):
      if reason != .replaced {
        add("■ \(source.title) \(Self.words[reason] ?? reason.rawValue)", room: rooms(of: session))
      }
    case .error(let code, let message, let device, _):
      add("! \(message) (\(code))", room: device.map(room) ?? "")
    }
  }

  /// What a stream tells: of the attempts of an outage the first only.
  private func tell(_ news: StreamNews, _ session: Session?) {
    let room = session.map(rooms) ?? ""
    switch news {
    case .title(let text): add("♪ \(text)", room: room)
    case .failure(let error):
      guard outages.updateValue(error.code, forKey: room) != error.code else { return }
      add("! \(error.message) (\(error.code))", room: room)
    case .reconnected(let gap):
      outages[room] = nil
      let tenths = Int((gap * 10).rounded())
      add(
        "connected again, "
          + (tenths > 0 ? "\(tenths / 10).\(tenths % 10) s are missing" : "nothing is missing"), room: room)
    }
  }

  private static let words: [EndReason: String] = [
    .finished: "has ended", .stopped: "is stopped", .failed: "has failed", .noDevices: "has no speaker left",
  ]

  private func quoted(_ source: SourceInfo?) -> String { source?.title ?? "nothing" }

  private func room(of device: Device) -> String {
    device.groupName == Group.ungrouped ? device.name : device.groupName
  }

  private func rooms(of session: Session) -> String {
    var rooms: [String] = []
    for room in session.devices.map(room) where !rooms.contains(room) { rooms.append(room) }
    return rooms.joined(separator: ", ")
  }

  private func level(of session: Session) -> String {
    let levels = Set(session.devices.map(\.volume)).sorted()
    guard let least = levels.first, let most = levels.last else { return "no volume" }
    return least == most ? "volume \(least)" : "volume \(least) to \(most)"
  }

  // MARK: Volumes

  private func volume(of device: Device, _ volume: Int, _ muted: Bool) {
    let (room, now) = (room(of: device), loop.now)
    let before = volumes.updateValue(volume, forKey: device.id) ?? volume
    if before == volume { return add(muted ? "muted" : "volume \(volume)", room: room) }
    closeSettledRamps()
    if let ramp = ramps[room], (volume - ramp.to).signum() * (ramp.to - ramp.from).signum() < 0 {
      closeRamps { $0 == room }
    }
    if var ramp = ramps[room] {
      ramp.to = volume
      ramp.end = now
      ramps[room] = ramp
    } else {
      ramps[room] = Ramp(from: before, to: volume, start: now, end: now)
      pending.append((entry("", room: room), room))
    }
  }

  /// Completes the ramps that have not moved for three seconds.
  private func closeSettledRamps() {
    let now = loop.now
    closeRamps { room in ramps[room].map { $0.end.duration(to: now) > .seconds(3) } ?? false }
  }

  private func closeRamps(where isComplete: (String) -> Bool) {
    for index in pending.indices {
      guard let room = pending[index].ramp, let ramp = ramps[room], isComplete(room) else { continue }
      ramps[room] = nil
      pending[index].ramp = nil
      // Tenths of a second, rounded: levels take some milliseconds to take effect.
      let tenths = (ramp.start.duration(to: ramp.end).nanoseconds + 50_000_000) / 100_000_000
      pending[index].entry.text =
        "volume \(ramp.from) → \(ramp.to)" + (tenths < 10 ? "" : " over \(tenths / 10).\(tenths % 10) s")
    }
    flush()
  }

  private func flush() {
    while let first = pending.first, first.ramp == nil {
      onEntry(first.entry)
      pending.removeFirst()
    }
  }
}
