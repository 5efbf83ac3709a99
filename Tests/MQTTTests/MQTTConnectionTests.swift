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
