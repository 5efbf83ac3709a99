internal import EventLoop
internal import Glibc

/// A hub of speakers on a free port of 127.0.0.1, in local-server mode: it plays what it fetches, one medium at a time.
///
/// Written from Harman's "REST API Specification" of the HKWHub app. Its methods may be called on any thread. Ends, with
/// all its threads, with the last reference.
public final class Hub: Sendable {
  /// A speaker as the hub lists it.
  public struct Speaker: Sendable {
    /// The id.
    public var id: String
    /// The name, as text of JSON: it may be of another type.
    public var name: String
    /// The name of its group, as text of JSON.
    public var group = "\"\""
    /// The level, as text of JSON.
    public var volume = "25"
    /// `true` if it is in the session.
    public var isActive = false
    /// Received signal strength in dBm.
    public var wifiSignal = -47
    /// The number of its role; 21 is mono.
    public var role = 21
    /// The id of its group.
    public var groupID = "3431724438"
    /// `true` if it plays what another controller has started.
    public var isPlaying = false

    /// A speaker with a name in quotes, in no group.
    public init(_ id: String, name: String) { (self.id, self.name) = (id, "\"\(name)\"") }

    func json(isHeard: Bool) -> String {
      """
      {"GroupName":\(group),"Role":\(role),"MacAddress":"b0:38:29:1b:36:1f","WifiSignalStrength":\(wifiSignal),\
      "Port":44055,"Active":\(isActive),"DeviceName":\(name),"Version":"0.1.6.2","ModelName":"Omni Adapt",\
      "IPAddress":"192.0.2.40","GroupID":"\(groupID)","Volume":\(volume),"IsPlaying":\(isPlaying || isHeard && isActive),"DeviceID":"\(id)"}
      """
    }
  }

  /// A command that the hub received.
  public struct Command: Sendable {
    /// The name, as `play_tts`.
    public let name: String
    /// The parameters, decoded.
    public let parameters: [String: String]
    /// The header `Authorization`; nil without one.
    public let authorization: String?
  }

  private struct State: Sendable {
    var speakers: [Speaker]
    var sessions: Set<String> = []
    var sessionCount = 0
    var commands: [Command] = []
    var faults: [String: Answer] = [:]
    var token: String?
    var playback: HubPlayback?
    /// The bytes of media that were replaced or stopped.
    var played: [[UInt8]] = []
  }

  /// The server, for faults of the network: `refuse`, `accept`, `cut`.
  public let station: Station
  private let state: Lock<State>

  /// Opens a hub of these speakers.
  /// - Parameter token: the token that requests have to carry; nil for none.
  public init(
    _ speakers: [Speaker] = [Speaker("101", name: "Kitchen"), Speaker("102", name: "Bedroom")],
    token: String? = nil
  ) throws {
    station = try Station()
    state = Lock(State(speakers: speakers, token: token))
    station.answer { [weak self] visit in self?.answer(visit) ?? .status("503 Service Unavailable") }
  }

  deinit { state.withLock { $0.playback.take() }?.end() }

  /// The address of the hub.
  public var url: String { station.url("") }

  /// The commands so far, in the order of their arrival.
  public var commands: [Command] { state.withLock { $0.commands } }
  /// The names of the commands so far, without those that only ask.
  public var orders: [String] {
    commands.map(\.name).filter { !["device_list", "playback_status", "init_session"].contains($0) }
  }
  /// The speakers.
  public var speakers: [Speaker] { state.withLock { $0.speakers } }
  /// URL of the medium that plays; nil for none.
  public var mediaURL: String? { state.withLock { $0.playback?.url } }
  /// The bytes of all media so far, in the order of their beginning.
  public var media: [[UInt8]] {
    state.withLock { state in state.played + (state.playback.map { [$0.bytes] } ?? []) }
  }

  /// Changes the speakers, as the app or another controller does.
  public func change(_ body: (inout [Speaker]) -> Void) { state.withLock { body(&$0.speakers) } }

  /// Answers a command wrongly; nil ends that. `"*"` stands for all commands.
  public func fault(_ command: String, _ answer: Answer?) { state.withLock { $0.faults[command] = answer } }

  /// Forgets all sessions, as after an hour without a command.
  public func expireSessions() { state.withLock { $0.sessions = [] } }

  /// Stops what plays, as another controller does.
  public func stopPlaying() {
    state.withLock { state -> HubPlayback? in
      guard let playback = state.playback.take() else { return nil }
      state.played.append(playback.bytes)
      return playback
    }?.end()
  }

  /// Forgets sessions, playback and memberships, as a hub that is switched on.
  public func restart() {
    stopPlaying()
    state.withLock { state in
      state.sessions = []
      for index in state.speakers.indices { state.speakers[index].isActive = false }
    }
  }

  // MARK: Commands

  private static let root = "/api/v1/"
  private static let done = Answer.page("{\"Result\":\"true\"}", type: "application/json")
  private static let refused = Answer.page("{\"Result\":\"false\"}", type: "application/json")

  private func answer(_ visit: Visit) -> Answer {
    guard visit.target.hasPrefix(Self.root) else { return .status("404 Not Found") }
    let parts = visit.target.dropFirst(Self.root.count).split(separator: "?", maxSplits: 1)
    var parameters: [String: String] = [:]
    for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
      let sides = pair.split(separator: "=", maxSplits: 1).map(Self.decoded)
      if sides.count == 2 { parameters[sides[0]] = sides[1] }
    }
    let command = Command(
      name: String(parts.first ?? ""), parameters: parameters, authorization: visit["Authorization"])
    let fault = state.withLock { state -> Answer? in
      state.commands.append(command)
      if let token = state.token, command.authorization != "Bearer \(token)" {
        return .status("401 Unauthorized")
      }
      return state.faults[command.name] ?? state.faults["*"]
    }
    return fault ?? perform(command)
  }

  private func perform(_ command: Command) -> Answer {
    if command.name == "init_session" {
      let token = state.withLock { state in
        state.sessionCount += 1
        let token = "r:session&\(state.sessionCount)"
        state.sessions.insert(token)
        return token
      }
      return json("{\"ResponseOf\":\"init_session\",\"SessionToken\":\"\(token)\"}")
    }
    let isKnown = state.withLock { $0.sessions.contains(command.parameters["SessionToken"] ?? "") }
    guard isKnown else { return json("{\"Result\":\"false\",\"Error\":\"SessionNotFound\"}") }
    switch command.name {
    case "close_session":
      state.withLock { state in _ = state.sessions.remove(command.parameters["SessionToken"] ?? "") }
      return Self.done
    case "device_list":
      let isHeard = state.withLock { $0.playback?.elapsed != nil }
      let list = speakers.map { $0.json(isHeard: isHeard) }
      return json("{\"DeviceList\":[\(list.joined(separator: ","))]}")
    case "add_device_to_session": return change(command) { $0.isActive = true }
    case "remove_device_from_session": return change(command) { $0.isActive = false }
    case "set_volume_device":
      guard let volume = command.parameters["Volume"], Int(volume) != nil else { return Self.refused }
      // Numbers come as strings too.
      return change(command) { $0.volume = "\"\(volume)\"" }
    case "play_web_media_selected_speakers": return play(command)
    case "stop_play":
      stopPlaying()
      return Self.done
    case "playback_status":
      let seconds = state.withLock { $0.playback?.elapsed }
      let elapsed = seconds.map { "\(Int($0))" } ?? "-1"
      let name = seconds == nil ? "Stopped" : "Playing"
      return json("{\"PlaybackState\":\"PlayerState\(name)\",\"TimeElapsed\":\"\(elapsed)\"}")
    default: return .status("404 Not Found")
    }
  }

  private func json(_ text: String) -> Answer { .page(text, type: "application/json") }

  private func change(_ command: Command, _ body: (inout Speaker) -> Void) -> Answer {
    state.withLock { state in
      guard let index = state.speakers.firstIndex(where: { $0.id == command.parameters["DeviceID"] }) else {
        return Self.refused
      }
      body(&state.speakers[index])
      return Self.done
    }
  }

  private func play(_ command: Command) -> Answer {
    let ids = (command.parameters["DeviceIDList"] ?? "").split(separator: ",").map(String.init)
    guard let url = command.parameters["MediaUrl"], !ids.isEmpty,
      let playback = try? HubPlayback(url)
    else { return Self.refused }
    stopPlaying()
    return state.withLock { state in
      for (index, speaker) in state.speakers.enumerated() {
        state.speakers[index].isActive = ids.contains(speaker.id)
      }
      state.playback = playback
      return Self.done
    }
  }

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), let value = UInt8(digits, radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A medium that a hub fetches, as fast as it comes, and plays.
///
/// Unchecked: the thread is joined by the first `end`.
final class HubPlayback: @unchecked Sendable {
  private struct State: Sendable {
    var bytes: [UInt8] = []
    var begun: ContinuousClock.Instant?
    var isComplete = false
    var isEnded = false
  }

  let url: String
  private let state = Lock(State())
  private let thread: TestThread

  /// Begins to fetch `http://127.0.0.1:PORT/PATH`.
  init(_ url: String) throws {
    let prefix = "http://127.0.0.1:"
    let rest = url.dropFirst(prefix.count)
    guard url.hasPrefix(prefix), let slash = rest.firstIndex(of: "/"), let port = UInt16(rest[..<slash])
    else { throw TestFailure("\(url) is not on this machine") }
    self.url = url
    let path = String(rest[slash...])
    let state = state
    thread = try TestThread { HubPlayback.fetch(path, port, state) }
  }

  /// The bytes of the medium so far.
  var bytes: [UInt8] { state.withLock { $0.bytes } }

  /// Seconds played; nil when it has been played to its end, or can't be.
  var elapsed: Double? {
    state.withLock { state in
      guard let begun = state.begun else { return state.isComplete ? nil : 0 }
      let seconds = (ContinuousClock.now - begun) / .seconds(1)
      let length = Double(max(0, state.bytes.count - 44)) / 192_000
      return state.isComplete && seconds >= length ? nil : seconds
    }
  }

  /// Ends the fetching.
  func end() {
    let isFirst = state.withLock { state in
      defer { state.isEnded = true }
      return !state.isEnded
    }
    if isFirst { thread.join() }
  }

  private static func fetch(_ path: String, _ port: UInt16, _ state: Lock<State>) {
    defer { state.withLock { $0.isComplete = true } }
    guard let connection = try? Socket.connected(to: port) else { return }
    defer { close(connection) }
    let request = Array("GET \(path) HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".utf8)
    _ = Glibc.send(connection, request, request.count, Int32(MSG_NOSIGNAL))
    var head: [UInt8]? = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !state.withLock({ $0.isEnded }) {
      var poller = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, 10) > 0 else { continue }
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      var bytes = buffer[..<count]
      if var start = head {
        start += bytes
        guard let end = start.firstRange(of: [13, 10, 13, 10] as [UInt8])?.upperBound else {
          head = start
          continue
        }
        guard start.starts(with: "HTTP/1.1 200".utf8) || start.starts(with: "HTTP/1.0 200".utf8) else {
          return
        }
        head = nil
        bytes = start[end...]
      }
      guard !bytes.isEmpty else { continue }
      let received = bytes
      state.withLock { state in
        state.begun = state.begun ?? .now
        state.bytes += received
      }
    }
  }
}
