internal import EventLoop
internal import JSONText

/// The state of a snapserver, as its control reports it. A value: notifications and responses change it in place.
///
/// Source: https://github.com/badaix/snapcast/blob/v0.26.0/doc/json_rpc_api/control.md
struct SnapcastServer: Equatable {
  var groups: [SnapcastGroup] = []
  var streams: [SnapcastStream] = []

  /// The clients of all groups, in the order of the server.
  var clients: [SnapcastClient] { groups.flatMap(\.clients) }

  /// Reads the member `server` of a response or a notification; nil for one of another form.
  init?(_ json: JSON?) {
    guard let groups = json?["groups"]?.elements, let streams = json?["streams"]?.elements else { return nil }
    self.groups = groups.compactMap(SnapcastGroup.init)
    self.streams = streams.compactMap(SnapcastStream.init)
    guard self.groups.count == groups.count, self.streams.count == streams.count else { return nil }
  }

  /// Returns the group of a client.
  func group(of client: String) -> SnapcastGroup? {
    groups.first { $0.clients.contains { $0.id == client } }
  }

  /// Effect of a notification.
  enum Effect: Equatable {
    /// A change that no house shows.
    case none
    /// A client came or went by itself.
    case byItself
    /// Another controller changed something.
    case byController
    /// The notification has an unknown id or another form: the whole state is to be requested.
    case unknown
  }

  /// Applies a notification.
  mutating func apply(_ method: String, _ parameters: JSON?) -> Effect {
    let id = parameters?["id"]?.text ?? ""
    switch method {
    case "Server.OnUpdate":
      guard let new = SnapcastServer(parameters?["server"]) else { return .unknown }
      self = new
      return .byController
    case "Client.OnConnect", "Client.OnDisconnect":
      guard let client = parameters?["client"].flatMap(SnapcastClient.init), client.id == id else {
        return .unknown
      }
      return changeClient(id) { $0 = client } ? .byItself : .unknown
    case "Client.OnVolumeChanged":
      guard let volume = parameters?["volume"] else { return .unknown }
      return changeClient(id) { $0.read(volume: volume) } ? .byController : .unknown
    case "Client.OnNameChanged":
      guard let name = parameters?["name"]?.text else { return .unknown }
      return changeClient(id) { $0.name = name } ? .byController : .unknown
    case "Group.OnMute":
      guard let isMuted = parameters?["mute"]?.bool else { return .unknown }
      return changeGroup(id) { $0.isMuted = isMuted } ? .byController : .unknown
    case "Group.OnStreamChanged":
      guard let stream = parameters?["stream_id"]?.text else { return .unknown }
      return changeGroup(id) { $0.stream = stream } ? .byController : .unknown
    case "Group.OnNameChanged":
      guard let name = parameters?["name"]?.text else { return .unknown }
      return changeGroup(id) { $0.name = name } ? .byController : .unknown
    default: return .none
    }
  }

  /// Returns the clients whose levels a notification reports.
  func clients(reportedBy method: String, _ parameters: JSON?) -> [SnapcastClient] {
    switch method {
    case "Server.OnUpdate": clients
    case "Client.OnConnect", "Client.OnDisconnect", "Client.OnVolumeChanged":
      clients.filter { $0.id == parameters?["id"]?.text }
    default: []
    }
  }

  /// Changes a client.
  /// - Returns: `false` if no client has that id.
  @discardableResult
  mutating func changeClient(_ id: String, _ change: (inout SnapcastClient) -> Void) -> Bool {
    for group in groups.indices {
      guard let place = groups[group].clients.firstIndex(where: { $0.id == id }) else { continue }
      change(&groups[group].clients[place])
      return true
    }
    return false
  }

  /// Changes a group.
  /// - Returns: `false` if no group has that id.
  @discardableResult
  mutating func changeGroup(_ id: String, _ change: (inout SnapcastGroup) -> Void) -> Bool {
    guard let place = groups.firstIndex(where: { $0.id == id }) else { return false }
    change(&groups[place])
    return true
  }
}

/// The clients of a snapserver that play the same stream.
struct SnapcastGroup: Equatable {
  let id: String
  var name: String
  var stream: String
  var isMuted: Bool
  var clients: [SnapcastClient]

  init?(_ json: JSON) {
    guard let id = json["id"]?.text, let clients = json["clients"]?.elements else { return nil }
    self.id = id
    name = json["name"]?.text ?? ""
    stream = json["stream_id"]?.text ?? ""
    isMuted = json["muted"]?.bool ?? false
    self.clients = clients.compactMap(SnapcastClient.init)
    guard self.clients.count == clients.count else { return nil }
  }

  /// The name of the house's group that the name of this one stands for; nil for none.
  var zone: String? {
    let name = NameRule.fitted(name)
    return name.isEmpty || name == Group.ungrouped ? nil : name
  }
}

/// A player of a snapserver, also one that is not connected.
struct SnapcastClient: Equatable {
  let id: String
  /// The name given by a person; empty for none.
  var name: String
  let hostName: String
  let address: String
  let macAddress: String
  let version: String
  let isConnected: Bool
  /// The volume; 0...100 unless another controller has set nonsense.
  var percent = 100
  var isMuted = false

  init?(_ json: JSON) {
    guard let id = json["id"]?.text, let config = json["config"] else { return nil }
    self.id = id
    name = config["name"]?.text ?? ""
    let host = json["host"]
    hostName = host?["name"]?.text ?? ""
    let address = host?["ip"]?.text ?? ""
    self.address = address.hasPrefix("::ffff:") ? String(address.dropFirst(7)) : address
    macAddress = host?["mac"]?.text ?? ""
    version = json["snapclient"]?["version"]?.text ?? ""
    isConnected = json["connected"]?.bool ?? false
    if let volume = config["volume"] { read(volume: volume) }
  }

  mutating func read(volume: JSON) {
    if let percent = volume["percent"]?.int { self.percent = percent }
    if let isMuted = volume["muted"]?.bool { self.isMuted = isMuted }
  }

  /// The name given by a person, else the id that a person has configured, else the name of its machine, else
  /// its id.
  var givenName: String {
    [name, configuredID, hostName, id].map(NameRule.fitted).first { !$0.isEmpty } ?? id
  }

  /// The id as `--hostID` sets it, without the number of `--instance`; empty for that of a client without
  /// one, which is the address of its network card.
  private var configuredID: String {
    // A further client of the machine has its number after the id: `#2`.
    let own = id.prefix { $0 != "#" }
    let pairs = own.split(separator: ":", omittingEmptySubsequences: false)
    let isAddress = pairs.count == 6 && pairs.allSatisfy { $0.count == 2 && $0.allSatisfy(\.isHexDigit) }
    return isAddress || own == macAddress ? "" : String(own)
  }

  /// The level of the house, 0...50: half of the percentage, rounded; a percentage out of range counts as its
  /// bound.
  var volume: Int { (min(max(percent, 0), 100) + 1) / 2 }
}

/// A stream of a snapserver, and the source that it reads.
struct SnapcastStream: Equatable {
  /// The source of a stream, as the host feeds it.
  enum Source: Equatable {
    /// Accepts a connection at an address of the snapserver's machine.
    case tcp(host: String, port: Int)
    /// Reads a named pipe of the snapserver's machine.
    case pipe(path: String)
    /// Another one, which the host can't feed.
    case other(String)
  }

  let id: String
  let source: Source
  /// The rate, bits and channels, as `48000:16:2`.
  let sampleFormat: String

  init?(_ json: JSON) {
    guard let id = json["id"]?.text, let uri = json["uri"] else { return nil }
    self.id = id
    let query = uri["query"]
    let host = uri["host"]?.text ?? ""
    sampleFormat = query?["sampleformat"]?.text ?? "48000:16:2"
    switch uri["scheme"]?.text {
    case "tcp" where (query?["mode"]?.text ?? "server") == "server":
      let parts = host.split(separator: ":", omittingEmptySubsequences: false)
      let port = query?["port"]?.text.flatMap { Int($0) } ?? parts.last.flatMap { Int($0) } ?? 4953
      source = .tcp(host: parts.first.map(String.init) ?? "", port: port)
    case "pipe": source = .pipe(path: uri["path"]?.text ?? "")
    case let scheme: source = .other(scheme ?? "")
    }
  }
}

extension NameRule {
  /// Returns a text from outside in a form that the rules accept, cut where it is too long; empty when nothing is left.
  static func fitted(_ text: String) -> String {
    var name = ""
    var bytes = 0
    for letter in text.prefix(1000).description.cleaned.prefix(100) {
      let kept: Character = letter == "\u{FFFD}" ? "?" : letter
      bytes += kept.utf8.count
      if bytes > 255 { break }
      name.append(kept)
    }
    return name.allSatisfy(\.isWhitespace) ? "" : name
  }
}
