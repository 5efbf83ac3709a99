import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import MQTT

@Suite("One connection of libmosquitto", .waiting, .tags(.mqtt))
struct MQTTLinkTests {
  /// Returns a connection whose login is accepted.
  private func link(
    _ broker: FakeBroker, isFive: Bool = true, will: MQTTMessage? = nil
  ) throws -> MQTTLink {
    var settings = ConnectionHarness.settings(broker.port)
    settings.will = will
    let link = try MQTTLink(settings, isFive: isFive)
    try link.open()
    for _ in 0..<10_000 {
      link.read()
      if link.takeEvents().contains(where: { if case .accepted = $0 { true } else { false } }) { return link }
      usleep(1000)
    }
    throw TestFailure("no login")
  }

  @Test("a message that meets a connection that is gone is not refused: the connection is lost")
  func gone() throws {
    let broker = try FakeBroker { FakeBroker.greet($0) }
    let link = try link(broker)
    var outcome = MQTTLink.Outcome.refused
    for _ in 0..<2000 {
      outcome = link.publish(MQTTMessage("a", [1]))
      guard case .queued = outcome else { break }
      usleep(5000)
    }
    guard case .lost = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(link.takeEvents().contains { if case .failed(.network) = $0 { true } else { false } })
  }

  @Test("programs that are started do not inherit the socket")
  func socket() throws {
    let broker = try FakeBroker {
      FakeBroker.greet($0)
      FakeBroker.waitForEnd($0)
    }
    let link = try link(broker)
    #expect(fcntl(try #require(link.socket), F_GETFD) & FD_CLOEXEC != 0)
    link.close()
  }

  @Test("the farewell leaves also while the broker acknowledges nothing")
  func farewell() throws {
    let received = Lock<(bytes: [UInt8], isEnded: Bool)>(([], false))
    let broker = try FakeBroker { connection in
      FakeBroker.greet(connection)
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(connection, &buffer, buffer.count)
        guard count > 0 else { break }
        let part = buffer.prefix(count)
        received.withLock { $0.bytes += part }
      }
      received.withLock { $0.isEnded = true }
    }
    let link = try link(broker, will: MQTTMessage("status", Array("offline".utf8), isRetained: true, qos: 1))
    for _ in 0..<30 { _ = link.publish(MQTTMessage("a", [1], qos: 1)) }
    link.farewell()
    for _ in 0..<10_000 where !received.withLock({ $0.isEnded }) { usleep(1000) }
    let bytes = received.withLock { $0.bytes }
    #expect(bytes.firstRange(of: Array("offline".utf8)) != nil)
  }
}
