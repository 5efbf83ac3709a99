import EventLoop
import MQTT
import TestSupport

/// A connection with a network thread of its own, and what it has reported. Confined to `loop`.
final class ConnectionHarness {
  let loop: EventLoop
  private let thread: LoopThread
  private(set) var connection: MQTTConnection?
  private(set) var reports: [MQTTReport] = []
  private(set) var messages: [MQTTMessage] = []
  private(set) var filters: [String?] = []
  private(set) var dropped = 0

  init(_ settings: MQTTSettings, on loop: EventLoop) throws {
    self.loop = loop
    thread = try LoopThread(name: "network")
    connection = MQTTConnection(
      settings, on: thread.loop, owner: loop, seed: 1, onReport: { [weak self] in self?.reports.append($0) },
      onDropped: { [weak self] in self?.dropped += $0 },
      onMessage: { [weak self] in
        self?.messages.append($0)
        self?.filters.append($1)
      })
  }

  /// Settings for a broker of the test.
  static func settings(_ port: Int, _ client: String = "test") -> MQTTSettings {
    var settings = MQTTSettings(host: "127.0.0.1")
    (settings.port, settings.clientID) = (port, client)
    return settings
  }

  /// Runs `body` with a connection that has begun, and ends it.
  static func run(
    _ settings: MQTTSettings, _ body: @escaping (ConnectionHarness) async throws -> Void
  ) throws {
    let loop = EventLoop()
    let harness = try ConnectionHarness(settings, on: loop)
    let hold = loop.hold("the network thread works")
    try loop.finish {
      harness.connection?.start()
      try await body(harness)
    } last: {
      harness.close()
      hold.release()
    }
    harness.thread.close()
  }

  func close() {
    connection?.close()
    connection = nil
  }

  var isConnected: Bool {
    for report in reports.reversed() {
      switch report {
      case .connected: return true
      case .disconnected: return false
      default: continue
      }
    }
    return false
  }

  func connected() async throws { try await loop.wait { self.isConnected } }
  func disconnected() async throws {
    try await loop.wait { self.reports.contains { if case .disconnected = $0 { true } else { false } } }
  }

  /// Waits for a report that can't be reached again.
  func unreachable() async throws -> MQTTFailure {
    var found: MQTTFailure?
    try await loop.wait {
      for case .unreachable(let failure) in self.reports { found = failure }
      return found != nil
    }
    guard let found else { throw TestFailure("no failure") }
    return found
  }

  func subscribe(_ filter: String) throws { connection?.subscribe(try MQTTFilter(filter)) }
}
