import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("The choice among the snapservers of a network", .tags(.speaker, .snapcast, .discovery))
struct SnapserverChoiceTests {
  private func server(
    _ name: String, _ address: String, port: Int = 1705, isLocal: Bool = false
  ) -> SnapserverSearch.Server {
    .init(name: name, address: address, port: port, isLocal: isLocal)
  }

  @Test("servers that are found: that of this machine first, then by name, each once")
  func found() {
    let servers = [
      server("B", "192.0.2.7"), server("C", "192.0.2.2", isLocal: true), server("A", "192.0.2.9"),
      server("C", "127.0.0.1", isLocal: true), server("B", "192.0.2.6"),
    ]
    #expect(
      SnapserverSearch.ordered(servers).map { "\($0.name) \($0.address)" } == [
        "C 127.0.0.1", "A 192.0.2.9", "B 192.0.2.6",
      ])
  }

  /// Returns the addresses at which the server B, known at 192.0.2.7, is looked for.
  private func addresses(_ found: [SnapserverSearch.Server], after seconds: Int) -> [String] {
    SnapserverSearch.addresses(
      of: found, known: SnapserverAddress(host: "192.0.2.7", port: 1705, name: "B"),
      fallback: SnapserverAddress(host: "127.0.0.1", port: 1705), absence: .seconds(seconds)
    ).map(\.text)
  }

  @Test("a lost server is looked for where its name is now, and then where it was")
  func moved() {
    let moved = server("B", "192.0.2.8", port: 1805)
    #expect(addresses([moved], after: 0) == ["192.0.2.8 port 1805", "192.0.2.7 port 1705"])
    #expect(addresses([server("B", "192.0.2.7")], after: 60) == ["192.0.2.7 port 1705"])
  }

  @Test("another server of the network is connected when the lost one has been away for half a minute")
  func others() {
    let others = [server("A", "192.0.2.9"), server("C", "192.0.2.2", isLocal: true)]
    #expect(addresses(others, after: 29) == ["192.0.2.7 port 1705"])
    #expect(
      addresses(others, after: 30) == [
        "192.0.2.7 port 1705", "192.0.2.2 port 1705", "192.0.2.9 port 1705",
      ])
  }

  @Test("where none is announced, the address that it had and that of the settings are tried")
  func none() {
    #expect(addresses([], after: 0) == ["192.0.2.7 port 1705", "127.0.0.1 port 1705"])
  }
}

extension RealTimeTests {
  @Suite("A snapserver that was found on the network, and is lost", .tags(.snapcast, .discovery))
  struct SnapserverSearchTests {
    /// Returns the answer to `Server.GetStatus` of a server with one client and the stream of one session.
    private static func state(sound port: Int, streams: String = "p-") -> HostileSnapserver.Action {
      .line(
        """
        {"jsonrpc":"2.0","id":%,"result":{"server":{"groups":[{"id":"g","name":"","muted":false,\
        "stream_id":"\(streams)idle","clients":[{"id":"a","connected":true,"config":{"name":"",\
        "volume":{"percent":50,"muted":false}}}]}],"streams":[\
        {"id":"\(streams)1","uri":{"scheme":"tcp","host":"127.0.0.1:\(port)","query":{"mode":"server"}}},\
        {"id":"\(streams)idle","uri":{"scheme":"tcp","host":"127.0.0.1:9","query":{"mode":"server"}}}]}}}
        """)
    }

    private static func server(_ actions: [HostileSnapserver.Action]...) throws -> HostileSnapserver {
      try HostileSnapserver(.script(actions.map { ("Server.GetStatus", $0) }))
    }

    /// A house of a server that a search finds, with a record of its events.
    private final class Fixture {
      let loop = EventLoop()
      let driver: SnapcastDriver
      let house: House
      /// Port of the server that the network announces; nil for none.
      let announced: Lock<Int?>
      private(set) var reported: [String] = []

      init(port: Int) {
        var settings = SnapcastSettings()
        (settings.streams, settings.isSearched) = ("p-", true)
        driver = SnapcastDriver(DriverContext(loop: loop), settings)
        house = House(loop: loop, driver: driver)
        let announced = Lock<Int?>(port)
        self.announced = announced
        driver.search = { _ in
          .found(
            announced.withLock { $0 }.map {
              [.init(name: "Snapcast", address: "127.0.0.1", port: $0, isLocal: true)]
            } ?? [])
        }
      }

      func run(_ body: @escaping (Fixture) async throws -> Void) throws {
        try loop.finish(
          {
            try await self.house.open(addAll: false)
            self.house.events.on { [unowned self] event in
              switch event {
              case .device(_, let reason): reported.append(reason.rawValue)
              case .error(let code, _, _, _): reported.append(code)
              default: break
              }
            }
            try await body(self)
          }, last: { await self.house.close() })
      }

      func wait(until condition: () throws -> Bool) async throws {
        for _ in 0..<3000 {
          let isMet = try condition()
          try await loop.sleep(for: .milliseconds(10))
          if isMet { return }
        }
        throw TestFailure("it did not come: \(reported)")
      }
    }

    @Test("a server that comes back at another port is found, and its streams receive the sound")
    func moves() throws {
      let ports = try SnapcastRig.freePorts(1)
      let listener = try LoopbackListener(blocks: false)
      var old: HostileSnapserver? = try Self.server([Self.state(sound: ports[0])])
      let new = try Self.server([Self.state(sound: listener.port)])
      let fixture = Fixture(port: try #require(old).port)
      let folder = try TemporaryFolder()
      let samples = Signal.constant(0.5, frames: 48_000)
      try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: folder.file("a.wav"))
      try fixture.run { fixture in
        let device = fixture.house.devices[0]
        #expect(device.volume == 25 && device.isAvailable)
        fixture.announced.withLock { $0 = nil }
        old = nil
        try await fixture.wait { !device.isAvailable }
        // Some attempts find none.
        try await fixture.loop.sleep(for: .milliseconds(500))
        #expect(fixture.reported == ["speaker.lost", "unavailable"])
        fixture.announced.withLock { $0 = new.port }
        try await fixture.wait { device.isAvailable }
        #expect(fixture.reported == ["speaker.lost", "unavailable", "available"])
        #expect(fixture.driver.controlPort == new.port)
        try await device.join()
        try await fixture.house.session.play(folder.file("a.wav"))
        var connection: CInt?
        try await fixture.wait {
          connection = connection ?? listener.accept()
          return connection != nil
        }
        if let connection { close(connection) }
      }
    }

    @Test("a server without the streams of the sessions is one error, until the right one is there")
    func foreign() throws {
      var old: HostileSnapserver? = try Self.server([Self.state(sound: 9)])
      let foreign = try Self.server(
        [Self.state(sound: 9, streams: "q-")], [.hangUp], [Self.state(sound: 9, streams: "q-")])
      let new = try Self.server([Self.state(sound: 9)])
      let fixture = Fixture(port: try #require(old).port)
      try fixture.run { fixture in
        let device = fixture.house.devices[0]
        fixture.announced.withLock { $0 = foreign.port }
        old = nil
        try await fixture.wait { fixture.reported.contains("speaker.no_stream") }
        try await fixture.loop.sleep(for: .milliseconds(1_000))
        #expect(fixture.reported == ["speaker.lost", "unavailable", "speaker.no_stream"])
        #expect(fixture.house.devices.count == 1 && !device.isAvailable)
        fixture.announced.withLock { $0 = new.port }
        try await fixture.wait { device.isAvailable }
        #expect(fixture.reported.count { $0.hasPrefix("speaker.") } == 2)
      }
    }
  }
}
