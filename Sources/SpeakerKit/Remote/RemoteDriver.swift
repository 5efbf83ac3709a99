internal import AudioCore
internal import EventLoop

/// The record that a driver keeps of a speaker, by its id.
protocol RemoteSpeaker {
  associatedtype Level: ServerLevel

  /// The record of a speaker of which nothing is known.
  init()

  /// The name at the server that the name of the speaker was made from; nil before.
  var givenName: String? { get set }
  /// The level that is requested of the speaker.
  var level: RequestedLevel<Level> { get set }
}

/// A driver of speakers that another process or machine plays, through a server that keeps their levels and
/// names.
protocol RemoteDriver: Driver {
  associatedtype Speaker: RemoteSpeaker

  var context: DriverContext { get }
  var reports: (any DriverReports)? { get }
  /// The speakers as they were reported, in the order in which they were found.
  var devices: [DeviceInfo] { get set }
  /// The records of speakers by their ids.
  var speakers: [String: Speaker] { get set }
  /// The calls that wait for the answers to all requests of levels.
  var answering: PendingCalls<Void> { get }
  /// `true` if the server is connected.
  var isConnected: Bool { get }

  /// Returns the level that a speaker shows; nil for an unknown one.
  func shownLevel(of device: String) -> Speaker.Level?
  /// Has speakers show levels, and reports them together.
  func show(_ levels: [(device: String, level: Speaker.Level)])
  /// Queues a request of a speaker's level, which `RequestedLevel.send` returns then; its answer goes to
  /// `answered`.
  func requestLevel(of device: String)
}

extension RemoteDriver {
  var loop: EventLoop { context.loop }

  // MARK: Levels

  /// Requests changed levels: one request for each speaker, with its newest level.
  /// - Parameter prepare: called for each level before its request.
  func request(
    _ changes: [(device: String, change: LevelChange)],
    prepare: (Speaker.Level, _ device: String) -> Void = { _, _ in }
  ) {
    var wanted: [(device: String, level: Speaker.Level)] = []
    for (device, change) in changes {
      let place = wanted.firstIndex { $0.device == device } ?? wanted.count
      if place == wanted.count {
        guard let shown = shownLevel(of: device) else { continue }
        wanted.append((device, speakers[device]?.level.requested ?? shown.unchanged))
      }
      switch change {
      case .volume(let volume): wanted[place].level = Speaker.Level(volume: volume)
      case .level(let volume):
        let isMuted = wanted[place].level.isMuted
        wanted[place].level = Speaker.Level(volume: volume)
        wanted[place].level.isMuted = isMuted
      case .muted(let isMuted): wanted[place].level.isMuted = isMuted
      case .role, .balance: break  // not among the capabilities
      }
    }
    for (device, level) in wanted {
      prepare(level, device)
      perform(speakers[device, default: Speaker()].level.want(level), of: device)
    }
  }

  func perform(_ actions: [RequestedLevel<Speaker.Level>.Action], of device: String) {
    for action in actions {
      switch action {
      case .request:
        if isConnected { requestLevel(of: device) } else { speakers[device]?.level.lost() }
      case .report(let level): show([(device, level)])
      }
    }
  }

  /// Applies the answer to a request of a level: that of the server now.
  func answered(_ result: Result<Speaker.Level, SpeakerError>, _ device: String) {
    defer { if pendingChangeCount == 0 { answering.settle(.success(())) } }
    guard let shown = shownLevel(of: device) else { return _ = speakers[device]?.level = .init() }
    switch result {
    case .success(let level):
      perform(speakers[device]?.level.confirmed(level, shown: shown) ?? [], of: device)
    case .failure(let error):
      // The loss of the server is reported for all, and the level is requested when it is back.
      guard isConnected else { return _ = speakers[device]?.level.lost() }
      perform(speakers[device]?.level.refused(shown: shown) ?? [], of: device)
      reports?.failed(error, device: device, stream: nil)
    }
  }

  /// The number of speakers whose level the server is to confirm.
  public var pendingChangeCount: Int { speakers.values.count(where: \.level.isUnderWay) }

  /// Waits until the server has confirmed the requested levels, or is lost.
  public func awaitChanges() async throws {
    while pendingChangeCount > 0 { try await answering.wait(on: loop) }
    try Task.checkCancellation()
  }

  /// Reports requested levels at once; they hold until the server has answered.
  public func settle() {
    var levels: [(device: String, level: Speaker.Level)] = []
    for device in devices.map(\.id) {
      guard let shown = shownLevel(of: device) else { continue }
      for case .report(let level) in speakers[device]?.level.settle(shown: shown) ?? [] {
        levels.append((device, level))
      }
    }
    if !levels.isEmpty { show(levels) }
  }

  // MARK: Speakers

  func setAvailable(_ isAvailable: Bool, _ index: Int) {
    guard devices[index].isAvailable != isAvailable else { return }
    devices[index].isAvailable = isAvailable
    reports?.deviceChanged(.available(isAvailable), of: devices[index].id)
  }

  /// Returns the name of a speaker: the server's, with a number where another speaker has that name. The
  /// number stays when the other one is renamed.
  func name(of device: String, given: String, besides names: inout Set<String>) -> String {
    if speakers[device]?.givenName == given, let old = devices.first(where: { $0.id == device })?.name,
      names.insert(old).inserted
    {
      return old
    }
    let base = String(given.prefix(90))
    var (name, number) = (given, 1)
    while !names.insert(name).inserted {
      number += 1
      name = "\(base) \(number)"
    }
    return name
  }
}
