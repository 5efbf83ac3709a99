internal import JSONText

/// The groups that a snapserver is to have, and the requests that lead there, one after the other.
///
/// Speakers of one zone that are to play the same stream form a group with the zone's name. Speakers in no zone remain
/// in the group that they are in, together with those that are to play the same stream. Has no connection and no clock.
struct SnapcastPlan {
  /// A group as it is to be.
  struct Cell: Equatable {
    /// The name of the zone; nil for none.
    let zone: String?
    let stream: String
    var clients: [String]
  }

  /// A change of a group.
  enum Step: Equatable {
    case setClients(group: String, [String])
    case setStream(group: String, String)
    case setName(group: String, String)
  }

  /// Groups as they are to be, in the order of the server's clients.
  private(set) var cells: [Cell] = []

  /// Plans the groups of a server.
  /// - Parameters:
  ///   - zones: the zones of the clients, by id.
  ///   - memberships: the sessions of the clients, by id. A client in none plays another stream than that of a
  ///     session.
  init(
    _ server: SnapcastServer, _ pool: SnapcastPool, zones: [String: String],
    memberships: [String: DriverStream]
  ) {
    var places: [String: Int] = [:]
    for group in server.groups {
      for client in group.clients {
        let stream =
          memberships[client.id].flatMap { $0 < pool.sessions.count ? pool.sessions[$0].id : nil }
          ?? (pool.session(of: group.stream) == nil ? group.stream : pool.idle)
        let zone = zones[client.id]
        let key = "\(zone.map { "zone \($0)" } ?? "group \(group.id)")\n\(stream)"
        if let place = places[key] {
          cells[place].clients.append(client.id)
        } else {
          places[key] = cells.count
          cells.append(Cell(zone: zone, stream: stream, clients: [client.id]))
        }
      }
    }
  }

  /// Returns the next step; nil when the server's groups are as they are to be.
  ///
  /// A client that is removed from a group lands in a new one, which a later step finds.
  func next(_ server: SnapcastServer) -> Step? {
    var used: Set<String> = []
    // Zones choose their groups first, so that the clients that leave a group are those that move.
    for cell in cells.filter({ $0.zone != nil }) + cells.filter({ $0.zone == nil }) {
      let wanted = Set(cell.clients)
      var best: (group: SnapcastGroup, rank: Int)?
      for group in server.groups where !used.contains(group.id) {
        let shared = group.clients.count { wanted.contains($0.id) }
        let rank = 2 * shared + (group.zone == cell.zone ? 1 : 0)
        if shared > 0, rank > best?.rank ?? 0 { best = (group, rank) }
      }
      guard let group = best?.group else { continue }
      used.insert(group.id)
      if Set(group.clients.map(\.id)) != wanted { return .setClients(group: group.id, cell.clients) }
      if group.stream != cell.stream { return .setStream(group: group.id, cell.stream) }
      if group.zone != cell.zone { return .setName(group: group.id, cell.zone ?? "") }
    }
    return nil
  }
}

extension SnapcastPlan.Step {
  /// The method and parameters of the request.
  var request: (method: String, parameters: [(name: String, value: JSON)]) {
    switch self {
    case .setClients(let group, let clients):
      ("Group.SetClients", [("id", .string(group)), ("clients", .array(clients.map { .string($0) }))])
    case .setStream(let group, let stream):
      ("Group.SetStream", [("id", .string(group)), ("stream_id", .string(stream))])
    case .setName(let group, let name):
      ("Group.SetName", [("id", .string(group)), ("name", .string(name))])
    }
  }

  /// Applies the response of the server.
  /// - Returns: `false` for a response of another form.
  func apply(_ result: JSON, to server: inout SnapcastServer) -> Bool {
    switch self {
    case .setClients:
      guard let new = SnapcastServer(result["server"]) else { return false }
      server = new
      return true
    case .setStream(let group, let stream): return server.changeGroup(group) { $0.stream = stream }
    case .setName(let group, let name): return server.changeGroup(group) { $0.name = name }
    }
  }
}
