internal import AudioCore
internal import EventLoop
internal import HTTP

/// One session, whose sound the hub fetches from the host.
extension HubDriver {
  /// Opens a source, on a thread that may wait for its file.
  /// - Throws: `AudioError`, `speaker.range`, errors of the source, `CancellationError`.
  public func load(_ request: SourceRequest) async throws -> Cue {
    guard server != nil else {
      throw link == nil
        ? House.closedError : SpeakerError(.unsupported, "the house is open for inspection only")
    }
    let format = format
    let source = try await loop.callFiles { try MediaSource.open(request, format: format) }
    guard let source else { throw AudioError.unanswered(request.name) }
    try Task.checkCancellation()
    guard server != nil else { throw House.closedError }
    cueCount += 1
    sources[cueCount] = (source, start: Int((request.start * Double(format.sampleRate)).rounded()))
    return Cue(id: cueCount, duration: source.frames)
  }

  /// Releases a cue.
  public func discard(_ cue: Cue) { sources[cue.id] = nil }

  /// Has the hub play a cue; it is heard when the hub has fetched its beginning.
  public func start(_ cue: Cue, in session: DriverStream, paused: Bool) {
    startedCue = cue.id
    for other in sources.keys where other < cue.id { sources[other] = nil }
    let (end, start) = sources[cue.id].map { ($0.source.end, $0.start) } ?? (nil, 0)
    perform(player.start(cue.id, from: start, to: end, paused: paused, at: loop.now))
  }
  /// Waits until the hub has answered the first request to play a cue.
  /// - Throws: `speaker.unavailable` when it refuses, `speaker.lost` when it is lost; `speaker.closed`,
  ///   `CancellationError`.
  public func awaitStart(of cue: Cue) async throws {
    guard player.requested?.cue == cue.id else { return }
    let call = PendingCall<Void>()
    starting = (cue.id, call)
    defer { if starting?.call === call { starting = nil } }
    try await call.result(on: loop)
  }
  /// Keeps the priority, which the hub receives with the next medium.
  public func setPriority(_ priority: Int, of session: DriverStream) { self.priority = priority }
  /// Stops the medium and keeps its position.
  public func pause(_ session: DriverStream) {
    follow()
    perform(player.pause(at: loop.now))
  }
  /// Has the hub play from the kept position on.
  public func resume(_ session: DriverStream) { perform(player.resume()) }
  /// Stops the medium.
  public func stop(_ session: DriverStream) {
    perform(player.stop(at: loop.now))
    withdraw()
    // One that is loaded and not started yet plays in its place.
    for cue in sources.keys where cue <= startedCue { sources[cue] = nil }
  }
  /// Returns the number of frames heard, as far as the hub has reported.
  public func position(of session: DriverStream) -> Int {
    follow()
    return player.position(at: loop.now)
  }

  /// Applies the beginning of the delivery, which the clock counts from.
  private func follow() {
    if let run = player.playing { player.delivered(run.number, delivery(of: run)) }
  }

  /// Returns the delivery of the medium of a run.
  func delivery(of run: HubPlayer.Run) -> HubPlayer.Delivery {
    guard let medium = media[run.number]?.media else { return .init() }
    let progress = medium.progress.withLock { $0 }
    let begun = progress.begun.map { loop.now.advanced(by: .nanoseconds($0 - monotonicNanoseconds())) }
    return .init(
      begun: begun, isComplete: progress.isComplete, end: progress.frames.map { medium.firstFrame + $0 })
  }

  func perform(_ actions: [HubPlayer.Action]) {
    for action in actions {
      switch action {
      case .play(let run): play(run)
      case .stop:
        withdraw()
        guard isConnected else {
          owesStop = true
          continue
        }
        link?.request("stop_play") { [weak self] result in
          guard let self, case .failure(let error) = result, isConnected else { return }
          reports?.failed(error, device: nil, stream: 0)
        }
      case .ended(let run, let ending):
        let failure = failure(of: run, ending)
        withdraw()
        if let starting, starting.cue == run.cue, let failure {
          starting.call.settle(.failure(failure))
        } else {
          reports?.ended(cue: run.cue, in: 0, failure: failure)
        }
      }
    }
    // Another command has replaced the cue that was to start.
    if let starting, starting.cue != player.requested?.cue { starting.call.settle(.success(())) }
  }

  private func play(_ run: HubPlayer.Run) {
    guard let server, let link else { return }
    guard let source = sources[run.cue]?.source else {
      return refuse(run, SpeakerError(.lost, "the sound is not open any more"))
    }
    let medium = Media(source, from: run.firstFrame, format: format)
    let path: String
    do throws(SpeakerError) { path = try server.publish(medium) } catch { return refuse(run, error) }
    media[run.number] = (medium, path)
    let url = server.url(path)
    link.request(
      "play_web_media_selected_speakers",
      { [weak self, priority] in
        [("MediaUrl", url), ("DeviceIDList", self?.memberList ?? ""), ("Priority", "\(priority)")]
      }
    ) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success:
        accepted(run)
      case .failure(let error):
        // A hub that is lost plays it when it is back.
        if link.isOpen { perform(player.refused(run.number, error)) }
      }
    }
  }

  /// Ends a run that can't be requested, in a turn of its own: its caller does not wait for it yet.
  private func refuse(_ run: HubPlayer.Run, _ error: SpeakerError) {
    loop.next { [weak self] in
      guard let self else { return }
      perform(player.refused(run.number, error))
    }
  }

  private func accepted(_ run: HubPlayer.Run) {
    player.accepted(run.number, at: loop.now)
    withdraw(before: run.number)
    guard player.playing?.number == run.number else { return }
    starting?.call.settle(.success(()))
    for index in devices.indices where speakers[devices[index].id]?.isMember == true {
      speakers[devices[index].id]?.playsForHost = true
      setPlaysOthers(false, index)
    }
    followStatus()
  }

  /// The ids of the members in the order of the house, as the hub reads them.
  private var memberList: String {
    devices.map(\.id).filter { speakers[$0]?.isMember == true }.joined(separator: ",")
  }

  /// Ends the delivery of the media of all runs before one; of all by default.
  private func withdraw(before number: Int = .max) {
    for (run, published) in media where run < number {
      server?.withdraw(published.path)
      media[run] = nil
    }
  }

  private func failure(of run: HubPlayer.Run, _ ending: HubPlayer.Ending) -> (any CodedError)? {
    let failure = media[run.number]?.media.progress.withLock { $0.failure }
    switch ending {
    case .complete: return failure
    case .cutShort:
      return failure
        ?? SpeakerError(
          .lost, "the hub has stopped before the end: by another controller, or as it can't play on")
    case .notFetched:
      return SpeakerError(
        .lost, "the hub has not fetched the sound from \(server?.url("/") ?? settings.serve)",
        hint: "`serve` is the address of this machine that the hub can reach; a firewall may be between")
    case .refused(let error): return error
    }
  }
}
