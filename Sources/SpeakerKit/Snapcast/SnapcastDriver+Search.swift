internal import EventLoop
internal import JSONText

/// The loss of a server that has not come back.
struct Outage {
  /// The time of the loss.
  let since: Instant
  /// The loss in words.
  let message: String
  /// `true` if a server has answered since that is not the right one, which was reported.
  var isRefused = false
}

/// The search for a server, and its loss and return.
extension SnapcastDriver {
  /// The search for a server that was lost, before each attempt to connect it.
  var searchAgain: SnapcastLink.Search {
    let (search, loop) = (search, loop)
    return SnapcastLink.Search(
      run: { search(Self.searchSeconds) },
      addresses: { [unowned self] found in
        SnapserverSearch.addresses(
          of: found, known: address, fallback: fallback,
          absence: outage.map { $0.since.duration(to: loop.now) } ?? .zero)
      })
  }

  /// Searches the network for the first server.
  /// - Returns: its address, or that of the settings with the beginning of a message that says why.
  func searchFirst() async throws -> (SnapserverAddress, note: String) {
    // A thread of its own, given up after a while: the bus may block longer than a search takes.
    let outcome: SnapserverSearch.Outcome
    do {
      let search = search
      let found = try await loop.callFiles(atMost: SnapcastLink.searchTime) { search(Self.searchSeconds) }
      outcome = found ?? .unavailable("no answer")
    } catch let error as LoopError { outcome = .unavailable(error.message) }
    guard !isClosed else { throw House.closedError }
    switch outcome {
    case .unavailable(let reason):
      return (fallback, "the network can't be searched for one (Avahi: \(reason.cleaned)), and ")
    case .found(let servers):
      guard let first = servers.first else { return (fallback, "the network announces none, and ") }
      if servers.count > 1 {
        let names = servers.map { "\(quoted($0.name)) at \($0.address)" }.joined(separator: ", ")
        context.log(
          "\(servers.count) snapservers are on the network: \(names); the first is used, unless house { host = … } names one"
        )
      }
      return (SnapserverAddress(host: first.address, port: first.port, name: first.name), "")
    }
  }

  /// The time of a search, in which servers answer.
  private static let searchSeconds = 2

  // MARK: Loss and return

  /// Reports the loss of the server: its speakers can't be reached.
  func lost(_ error: SpeakerError) {
    for client in server?.clients ?? [] { speakers[client.id, default: Speaker()].keep(client) }
    isArranging = false
    // A server that accepts and hangs up before it has answered is lost as it was before.
    guard outage == nil else { return }
    outage = Outage(since: loop.now, message: error.message)
    context.log(error.message)
    reports?.failed(error, device: nil, stream: nil)
    for index in devices.indices { setAvailable(false, index) }
  }

  /// Reads the state of a server that is back, at its old address or another one, and restores zones, streams, volumes
  /// and names. A server without the streams of the sessions is given up, and looked for again.
  func reconnected() {
    let count = link?.notificationCount
    link?.request("Server.GetStatus") { [weak self] result in
      guard let self, let link, link.isOpen else { return }
      guard case .success(let answer) = result, let server = SnapcastServer(answer["server"]) else {
        return refuse(noServer(at: link.address))
      }
      let missing = missingStreams(of: server)
      guard missing.isEmpty else {
        return refuse(
          SpeakerError(
            .noStream,
            "the snapserver at \(link.address.text) does not have the streams "
              + missing.map { quoted($0) }.joined(separator: ", "), hint: SnapcastPool.hint))
      }
      link.accept()
      if let outage {
        let seconds = Int(outage.since.duration(to: loop.now).inSeconds.rounded())
        context.log("the snapserver at \(link.address.text) is connected again, after \(seconds) s")
      }
      outage = nil
      readSources(of: server)
      observe(server.clients)
      adopt(server)
      recheck(since: count)
      retryStreams()
    }
  }

  /// Returns the names of the streams of the sessions that a server does not have.
  private func missingStreams(of server: SnapcastServer) -> [String] {
    guard let pool else { return [] }
    let ids = Set(server.streams.map(\.id))
    return ([pool.idle] + pool.sessions.map(\.id)).filter { !ids.contains($0) }
  }

  /// Gives up the connection to a server that is not the right one; reported once until the right one is back.
  private func refuse(_ error: SpeakerError) {
    link?.refuse(error)
    guard outage?.isRefused != true else { return }
    outage = Outage(since: outage?.since ?? loop.now, message: error.message, isRefused: true)
    context.log(error.message)
    reports?.failed(error, device: nil, stream: nil)
  }
}
