import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import MQTT

@Suite("The connection to a real broker", .waiting, .tags(.mqtt))
struct MQTTConnectionTests {
  @Test("a message comes back with its topic, bytes and quality, and with the filter that it came for")
  func message() throws {
    let broker = try Mosquitto()
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try harness.subscribe("a/+")
      try await harness.connected()
      harness.connection?.send(MQTTMessage("a/b", [0, 255, 7], qos: 1))
      try await harness.loop.wait { harness.messages.count == 1 }
      #expect(harness.messages == [MQTTMessage("a/b", [0, 255, 7], qos: 1)])
      #expect(harness.filters == ["a/+"])
    }
  }

  @Test("a message that two filters select comes once for each of them")
  func overlapping() throws {
    let broker = try Mosquitto()
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try harness.subscribe("a/+")
      try harness.subscribe("#")
      try await harness.connected()
      harness.connection?.send(MQTTMessage("a/b", [1]))
      try await harness.loop.wait { harness.messages.count == 2 }
      #expect(Set(harness.filters.compactMap { $0 }) == ["a/+", "#"])
    }
  }

  @Test("a sender learns when its message has left, or was acknowledged", arguments: [0, 1, 2])
  func sent(_ qos: Int) throws {
    let broker = try Mosquitto()
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.connected()
      harness.connection?.send(MQTTMessage("a", [1], qos: qos), token: 5)
      try await harness.loop.wait { harness.reports.contains(.sent(5)) }
    }
  }

  @Test("user and password are those of the file, and a wrong one is a refused login")
  func password() throws {
    let broker = try Mosquitto(["password_file FOLDER/users"], isOpen: false) { folder in
      try Command.succeed("mosquitto_passwd", ["-b", "-c", folder.file("users"), "house", "secret"])
      chmod(folder.file("users"), 0o644)
    }
    let folder = try TemporaryFolder()
    let file = try folder.write(Array("secret\n".utf8), to: "password")
    chmod(file, 0o600)
    var settings = ConnectionHarness.settings(broker.port)
    (settings.user, settings.passwordFile) = ("house", file)
    try ConnectionHarness.run(settings) { try await $0.connected() }
    let wrong = try folder.write(Array("secrets".utf8), to: "wrong")
    chmod(wrong, 0o600)
    settings.passwordFile = wrong
    try ConnectionHarness.run(settings) { harness in
      let failure = try await harness.unreachable()
      #expect(failure == .login("it refuses user and password"))
    }
    settings.passwordFile = nil
    settings.user = nil
    try ConnectionHarness.run(settings) { harness in
      let failure = try await harness.unreachable()
      #expect(failure == .login("it wants a user and a password"))
    }
  }

  @Test("a password that others can read, or that is not there, is a refused login with the remedy")
  func openPassword() throws {
    let broker = try Mosquitto()
    let folder = try TemporaryFolder()
    let file = try folder.write(Array("x".utf8), to: "password")
    chmod(file, 0o644)
    var settings = ConnectionHarness.settings(broker.port)
    (settings.user, settings.passwordFile) = ("house", file)
    try ConnectionHarness.run(settings) { harness in
      let failure = try await harness.unreachable()
      #expect(failure.isLogin && failure.reason.contains("chmod 600 \(file)"))
    }
    settings.passwordFile = folder.file("nowhere")
    try ConnectionHarness.run(settings) { harness in
      let failure = try await harness.unreachable()
      #expect(failure.reason.contains("No such file"))
    }
  }

  private static func certificate(_ folder: TemporaryFolder, for name: String) throws {
    try Command.succeed(
      "openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder.file("key.pem"), "-out",
        folder.file("certificate.pem"), "-days", "2", "-subj", "/CN=\(name)", "-addext",
        "subjectAltName=DNS:\(name)",
      ])
    chmod(folder.file("key.pem"), 0o644)
  }

  @Test("TLS needs a certificate that is trusted and names the host")
  func tls() throws {
    let lines = ["certfile FOLDER/certificate.pem", "keyfile FOLDER/key.pem"]
    let broker = try Mosquitto(lines) { try Self.certificate($0, for: "localhost") }
    var settings = ConnectionHarness.settings(broker.port)
    (settings.host, settings.usesTLS) = ("localhost", true)
    settings.certificateFile = broker.folder.file("certificate.pem")
    try ConnectionHarness.run(settings) { harness in
      try harness.subscribe("#")
      try await harness.connected()
      harness.connection?.send(MQTTMessage("a", [UInt8](repeating: 7, count: 300_000)))
      try await harness.loop.wait { harness.messages.count == 1 }
      #expect(harness.messages[0].payload.count == 300_000)
    }
    settings.host = "127.0.0.1"
    try ConnectionHarness.run(settings) { harness in
      let failure = try await harness.unreachable()
      #expect(failure.reason.contains("certificate"))
    }
    (settings.host, settings.certificateFile) = ("localhost", nil)
    try ConnectionHarness.run(settings) { harness in
      let failure = try await harness.unreachable()
      #expect(failure.reason.contains("signed by somebody unknown"))
    }
    settings.certificateFile = "/nowhere.pem"
    try ConnectionHarness.run(settings) { harness in
      let failure = try await harness.unreachable()
      #expect(failure.reason.contains("/nowhere.pem can't be read"))
    }
  }

  @Test("a topic that the broker's rules forbid is reported, and the connection stays")
  func forbidden() throws {
    let broker = try Mosquitto(["acl_file FOLDER/rules"]) { folder in
      _ = try folder.write(Array("topic readwrite allowed/#\n".utf8), to: "rules")
      chmod(folder.file("rules"), 0o700)
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try harness.subscribe("allowed/#")
      try await harness.connected()
      harness.connection?.send(MQTTMessage("forbidden/a", [1], qos: 1), token: 1)
      try await harness.loop.wait { harness.reports.contains(.unsent(1, .refused)) }
      #expect(harness.reports.contains(.refused("forbidden/a")))
      harness.connection?.send(MQTTMessage("allowed/a", [1]))
      try await harness.loop.wait { harness.messages.count == 1 }
    }
  }

  @Test("another client with the same id takes the place, and the connection returns when that is gone")
  func kicked() throws {
    let broker = try Mosquitto()
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.connected()
      let other = try ConnectionHarness(ConnectionHarness.settings(broker.port), on: harness.loop)
      other.connection?.start()
      try await other.connected()
      try await harness.disconnected()
      other.close()
      try await harness.loop.wait { harness.isConnected }
    }
  }

  @Test("a broker that is killed and started again finds subscriptions, and messages that waited, once each")
  func restart() throws {
    let broker = try Mosquitto()
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try harness.subscribe("a/#")
      try await harness.connected()
      for round in 0..<3 {
        broker.kill()
        try await harness.loop.wait { !harness.isConnected }
        for number in 0..<20 { harness.connection?.send(MQTTMessage("a/\(round)", [UInt8(number)], qos: 1)) }
        try broker.start()
        try await harness.loop.wait { harness.messages.count >= (round + 1) * 20 }
      }
      harness.connection?.send(MQTTMessage("a/end", []))
      try await harness.loop.wait { harness.messages.last?.topic == "a/end" }
      #expect(harness.messages.count == 61)
      for round in 0..<3 {
        #expect(
          harness.messages.filter { $0.topic == "a/\(round)" }.map { Int($0.payload[0]) } == Array(0..<20))
      }
    }
  }

  @Test("20,000 filters, begun and ended, keep the connection")
  func manyFilters() throws {
    let broker = try Mosquitto()
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try await harness.connected()
      for number in 0..<20_000 { try harness.subscribe("f/\(number)") }
      for number in 0..<19_999 { harness.connection?.unsubscribe(try MQTTFilter("f/\(number)")) }
      harness.connection?.send(MQTTMessage("f/0", [1], qos: 1))
      harness.connection?.send(MQTTMessage("f/19999", [1], qos: 1))
      try await harness.loop.wait { !harness.messages.isEmpty }
      #expect(harness.messages.map(\.topic) == ["f/19999"])
      #expect(!harness.reports.contains { if case .disconnected = $0 { true } else { false } })
    }
  }

  @Test("10,000 retained messages arrive at a connection, each once")
  func retained() throws {
    let broker = try Mosquitto(["max_queued_messages 0"])
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port, "sender")) { sender in
      try await sender.connected()
      var next = 0
      while next < 10_000 {
        for number in next..<next + 100 {
          sender.connection?.send(MQTTMessage("s/\(number)", [1], isRetained: true, qos: 1), token: number)
        }
        next += 100
        try await sender.loop.wait {
          sender.reports.count { if case .sent = $0 { true } else { false } } >= next
        }
      }
    }
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port)) { harness in
      try harness.subscribe("s/#")
      try await harness.loop.wait { harness.messages.count + harness.dropped >= 10_000 }
      #expect(harness.dropped == 0 && Set(harness.messages.map(\.topic)).count == 10_000)
      #expect(!harness.messages.contains { !$0.isRetained })
    }
  }

  @Test("a will is published for a client that is gone")
  func gone() throws {
    let broker = try Mosquitto()
    var settings = ConnectionHarness.settings(broker.port, "house")
    settings.will = MQTTMessage("r/house/status", Array("offline".utf8), isRetained: true, qos: 1)
    let house = try MQTTLink(settings, isFive: true)
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port, "watcher")) { watcher in
      try watcher.subscribe("r/#")
      try await watcher.connected()
      try house.open()
      try await watcher.loop.wait {
        house.read()
        return house.takeEvents().contains { if case .accepted = $0 { true } else { false } }
      }
      // Without a farewell, as at the end of a process that is killed.
      house.close()
      try await watcher.loop.wait { watcher.messages.last?.payload == Array("offline".utf8) }
    }
  }

  @Test("a client that ends publishes the farewell")
  func will() throws {
    let broker = try Mosquitto()
    var settings = ConnectionHarness.settings(broker.port, "house")
    settings.will = MQTTMessage("r/house/status", Array("offline".utf8), isRetained: true, qos: 1)
    settings.birth = MQTTMessage("r/house/status", Array("online".utf8), isRetained: true, qos: 1)
    try ConnectionHarness.run(ConnectionHarness.settings(broker.port, "watcher")) { watcher in
      try watcher.subscribe("r/#")
      try await watcher.connected()
      let house = try ConnectionHarness(settings, on: watcher.loop)
      house.connection?.start()
      try await watcher.loop.wait { watcher.messages.last?.payload == Array("online".utf8) }
      house.close()
      try await watcher.loop.wait { watcher.messages.last?.payload == Array("offline".utf8) }
    }
  }
}

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
