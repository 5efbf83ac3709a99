import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import MQTT

@Suite("Brokers that do harm", .waiting, .tags(.mqtt))
struct HostileBrokerTests {
  @Test("a broker that closes at once is reported once")
  func closes() throws {
    let broker = try FakeBroker { _ in }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.loop.wait { broker.connections >= 3 }
      #expect(harness.reports.count == 1)
      guard case .unreachable(.network) = harness.reports.first else {
        Issue.record("\(harness.reports)")
        return
      }
    }
  }

  @Test("a message of 256 MB is not kept, and the connection is opened again")
  func huge() throws {
    let broker = try FakeBroker { connection in
      FakeBroker.greet(connection)
      let piece = [UInt8](repeating: 65, count: 1 << 20)
      let head = FakeBroker.message(Array("a".utf8), [], length: 268_435_455)
      guard FakeBroker.send(connection, head) else { return }
      for _ in 0..<255 { guard FakeBroker.send(connection, piece) else { return } }
      FakeBroker.waitForEnd(connection)
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.disconnected()
      #expect(
        harness.reports.contains(.disconnected(reason: "it sends a message of more than 2 MiB", isNew: true)))
      #expect(harness.messages.isEmpty)
      try await harness.loop.wait { broker.connections > 1 }
    }
  }

  @Test(
    "topics with NUL, in wrong UTF-8 or empty reach nobody",
    arguments: [[UInt8](arrayLiteral: 97, 0, 98), [0xC3, 0x28], [0xED, 0xA0, 0x80], Array("a/#".utf8)])
  func topics(_ topic: [UInt8]) throws {
    let broker = try FakeBroker { connection in
      FakeBroker.greet(connection)
      FakeBroker.send(connection, FakeBroker.message(topic, [1]))
      FakeBroker.send(connection, FakeBroker.message(Array("good".utf8), [2]))
      FakeBroker.waitForEnd(connection)
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.loop.wait {
        harness.reports.contains {
          switch $0 {
          case .disconnected, .tooLarge: true
          default: false
          }
        }
      }
      #expect(harness.messages.allSatisfy { $0.topic == "good" })
    }
  }

  @Test("a broker that sends a message once for several subscriptions reaches each of them")
  func several() throws {
    let broker = try FakeBroker { connection in
      var login = [UInt8](repeating: 0, count: 4096)
      guard read(connection, &login, login.count) > 0 else { return }
      let isFive = FakeBroker.isFive(login)
      FakeBroker.send(connection, isFive ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0])
      // The subscriptions have the numbers 1 and 2.
      usleep(200_000)
      let properties: [UInt8] = isFive ? [4, 0x0B, 1, 0x0B, 2] : []
      let body = [0, 3] + Array("a/b".utf8) + properties + [7]
      FakeBroker.send(connection, [0x30, UInt8(body.count)] + body)
      FakeBroker.waitForEnd(connection)
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try harness.subscribe("a/+")
      try harness.subscribe("#")
      // One without a filter is for all that match.
      try await harness.loop.wait { harness.messages.count == 2 || harness.filters == [nil] }
      #expect(harness.messages.allSatisfy { $0 == MQTTMessage("a/b", [7]) })
    }
  }

  @Test("3 MB of answers to subscriptions are no unfinished message")
  func answers() throws {
    let broker = try FakeBroker { connection in
      FakeBroker.greet(connection)
      let answers = (0..<1000).flatMap { _ in [0x90, 4, 0, 1, 0, 1] as [UInt8] }
      for _ in 0..<500 { guard FakeBroker.send(connection, answers) else { return } }
      FakeBroker.send(connection, FakeBroker.message(Array("good".utf8), [2]))
      FakeBroker.waitForEnd(connection)
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.loop.wait { !harness.messages.isEmpty || harness.reports.count > 1 }
      #expect(harness.reports.count == 1 && harness.messages.map(\.topic) == ["good"])
    }
  }

  @Test("a payload of more than 1 MiB is dropped and reported, and the next one arrives")
  func large() throws {
    let broker = try FakeBroker { connection in
      FakeBroker.greet(connection)
      FakeBroker.send(
        connection, FakeBroker.message(Array("big".utf8), [UInt8](repeating: 1, count: (1 << 20) + 1)))
      FakeBroker.send(
        connection, FakeBroker.message(Array("good".utf8), [UInt8](repeating: 2, count: 1 << 20)))
      FakeBroker.waitForEnd(connection)
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.loop.wait { harness.messages.count == 1 }
      #expect(harness.messages[0].topic == "good")
      #expect(harness.reports.contains(.tooLarge(topic: "big", bytes: (1 << 20) + 1)))
    }
  }

  @Test("a flood is bounded: the loop reads a part of it, and the rest is counted")
  func flood() throws {
    let broker = try FakeBroker { connection in
      FakeBroker.greet(connection)
      let message = FakeBroker.message(Array("flood".utf8), [UInt8](repeating: 3, count: 2000))
      let many = (0..<100).flatMap { _ in message }
      for _ in 0..<1000 { guard FakeBroker.send(connection, many) else { return } }
      FakeBroker.waitForEnd(connection)
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.connected()
      usleep(1_500_000)  // the loop does something else
      var slowest = Duration.zero
      while harness.messages.count + harness.dropped < 100_000 {
        let before = harness.loop.now
        try await harness.loop.sleep(for: .milliseconds(1))
        slowest = max(slowest, before.duration(to: harness.loop.now))
      }
      #expect(harness.dropped > 0)
      #expect(harness.messages.count + harness.dropped == 100_000)
      #expect(slowest < .seconds(1))
    }
  }

  @Test("descriptors and threads are the same after many connections")
  func leaks() throws {
    let broker = try FakeBroker { connection in
      FakeBroker.greet(connection)
      usleep(1000)
    }
    func count(_ kind: String) -> Int { (try? LinuxFiles.names(in: "/proc/self/\(kind)").count) ?? 0 }
    // Each new connection begins without a delay.
    for _ in 0..<3 {
      try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { try await $0.disconnected() }
    }
    let (descriptors, threads) = (count("fd"), count("task"))
    for _ in 0..<30 {
      try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { try await $0.disconnected() }
    }
    // Other suites of the process may open some.
    #expect(count("fd") < descriptors + 30 && count("task") < threads + 30)
  }
}
