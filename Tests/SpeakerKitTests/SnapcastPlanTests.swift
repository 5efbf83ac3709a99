import EventLoop
import JSONText
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("The groups of a snapserver, as they are and as they are to be", .tags(.speaker, .snapcast, .groups))
struct SnapcastPlanTests {
  /// Returns the state of a server: groups as "id name stream client,client".
  private func server(_ groups: String...) throws -> SnapcastServer {
    let texts = groups.map { group in
      let words = group.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      let clients = words[3].split(separator: ",").map { client(String($0)) }
      return """
        {"id":"\(words[0])","name":"\(words[1])","stream_id":"\(words[2])","muted":false,
         "clients":[\(clients.joined(separator: ","))]}
        """
    }
    let streams = ["idle", "1", "2"].map {
      #"{"id":"p-\#($0)","uri":{"scheme":"tcp","host":"127.0.0.1:9","query":{"mode":"server"}}}"#
    }
    let json = try #require(
      JSON(
        parsing:
          "{\"groups\":[\(texts.joined(separator: ","))],\"streams\":[\(streams.joined(separator: ","))]}"
          .utf8))
    return try #require(SnapcastServer(json))
  }

  private func client(_ id: String, percent: Int = 100) -> String {
    #"{"id":"\#(id)","connected":true,"config":{"name":"","volume":{"percent":\#(percent),"muted":false}}}"#
  }

  /// Performs the steps of a plan as a server does.
  /// - Returns: the groups at its end, as `server` reads them.
  private func arranged(
    _ server: SnapcastServer, zones: [String: String] = [:], memberships: [String: DriverStream] = [:]
  ) throws -> Set<String> {
    var server = server
    let pool = try SnapcastPool(server.streams, prefix: "p-")
    var steps = 0
    while true {
      let plan = SnapcastPlan(server, pool, zones: zones, memberships: memberships)
      guard let step = plan.next(server) else { break }
      steps += 1
      try #require(steps < 100)
      switch step {
      case .setClients(let id, let wanted):
        let place = try #require(server.groups.firstIndex { $0.id == id })
        let all = server.clients
        var group = server.groups[place]
        let expelled = group.clients.filter { !wanted.contains($0.id) }
        for index in server.groups.indices {
          server.groups[index].clients.removeAll { wanted.contains($0.id) }
        }
        group.clients = wanted.compactMap { id in all.first { $0.id == id } }
        server.groups[place] = group
        for client in expelled {
          var alone = try self.server("new\(steps)\(client.id)  \(group.stream) \(client.id)").groups[0]
          alone.clients = [client]
          server.groups.append(alone)
        }
        server.groups.removeAll { $0.clients.isEmpty }
      case .setName, .setStream: #expect(step.apply(.null, to: &server))
      }
    }
    return Set(
      server.groups.map { "\($0.name) \($0.stream) \($0.clients.map(\.id).sorted().joined(separator: ","))" })
  }

  @Test(
    "a client is called by its given name, else its configured id, else its machine, else its id",
    arguments: [
      ("00:17:53:00:00:01", "", "vm", "vm"), ("00:17:53:00:00:01#2", "", "vm", "vm"),
      ("02:42:ac:11:00:02", "", "vm", "vm"), ("kitchen", "", "vm", "kitchen"),
      ("kitchen#2", "", "vm", "kitchen"), ("kitchen", "Kitchen", "vm", "Kitchen"),
      ("00:17:53:00:00:01", "", "", "00:17:53:00:00:01"),
    ])
  func givenNames(id: String, name: String, host: String, expected: String) throws {
    let text = """
      {"id":"\(id)","connected":true,"host":{"name":"\(host)","mac":"00:17:53:00:00:01"},
       "config":{"name":"\(name)","volume":{"percent":100,"muted":false}}}
      """
    let client = try #require(JSON(parsing: text.utf8).flatMap(SnapcastClient.init))
    #expect(client.givenName == expected)
  }

  @Test("members of a zone and a session form one group with its name")
  func zone() throws {
    let server = try server("g1  p-idle a", "g2  p-idle b", "g3  p-idle c")
    #expect(
      try arranged(server, zones: ["a": "Z", "c": "Z"], memberships: ["a": 0, "b": 0, "c": 0]) == [
        "Z p-1 a,c", " p-1 b",
      ])
  }

  @Test("a zone whose members are in several sessions is several groups with its name")
  func split() throws {
    let server = try server("g1 Z p-1 a,b,c")
    #expect(
      try arranged(server, zones: ["a": "Z", "b": "Z", "c": "Z"], memberships: ["a": 0, "b": 1]) == [
        "Z p-1 a", "Z p-2 b", "Z p-idle c",
      ])
  }

  @Test("clients without a session keep a stream and a group that are none of the host's")
  func foreign() throws {
    let server = try server("g1  radio a,b", "g2 Own radio c")
    #expect(
      SnapcastPlan(
        server, try SnapcastPool(server.streams, prefix: "p-"), zones: ["c": "Own"], memberships: [:]
      ).next(server) == nil)
  }

  @Test("one that leaves its zone loses its name, and leaves the others alone")
  func leaves() throws {
    let server = try server("g1 Z p-1 a,b")
    #expect(try arranged(server, zones: ["b": "Z"], memberships: ["a": 0, "b": 0]) == [" p-1 a", "Z p-1 b"])
    let alone = try self.server("g1 Z p-1 a")
    #expect(try arranged(alone, memberships: ["a": 0]) == [" p-1 a"])
  }

  @Test("a hundred random arrangements are reached, whatever there was before")
  func random() throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<100 {
      var (zones, memberships): ([String: String], [String: DriverStream]) = ([:], [:])
      var groups: [Int: [String]] = [:]
      for client in ["a", "b", "c", "d", "e", "f"] {
        groups[Int(random.next() % 4), default: []].append(client)
        let zone = random.next() % 3
        if zone > 0 { zones[client] = "Z\(zone)" }
        let session = random.next() % 3
        if session > 0 { memberships[client] = Int(session) - 1 }
      }
      var server = try server("g  p-idle x")
      server.groups = try groups.sorted { $0.key < $1.key }.flatMap {
        try self.server(
          "g\($0.key) \(["", "Z1", "Z2", "Old"][$0.key]) p-\(["idle", "1", "2", "1"][$0.key]) \($0.value.joined(separator: ","))"
        ).groups
      }
      let result = try arranged(server, zones: zones, memberships: memberships)
      for (client, zone) in zones {
        let stream = ["p-1", "p-2"][safe: memberships[client]]
        let own = result.filter {
          $0.hasSuffix(" \(client)") || $0.contains(" \(client),") || $0.contains(",\(client)")
        }
        #expect(
          own.count == 1 && own.allSatisfy { $0.hasPrefix("\(zone) \(stream ?? "p-idle")") }, "\(result)")
      }
    }
  }

  @Test(
    "percentages become levels, whatever another controller has set",
    arguments: [
      (0, 0), (1, 1), (33, 17), (50, 25), (99, 50), (100, 50), (65_531, 50), (-5, 0), (Int.max, 50),
      (Int.min, 0),
    ])
  func levels(percent: Int, level: Int) throws {
    let json = try #require(JSON(parsing: client("a", percent: percent).utf8))
    #expect(SnapcastClient(json)?.volume == level)
  }

  @Test("states of another form are none")
  func wrongForms() throws {
    for text in [
      "{}", "[]", "null", #"{"groups":[],"streams":{}}"#, #"{"groups":[{}],"streams":[]}"#,
      #"{"groups":[{"id":"g","clients":[{"id":7}]}],"streams":[]}"#,
    ] { #expect(SnapcastServer(JSON(parsing: text.utf8)) == nil, "\(text)") }
  }

  @Test("fewer than two streams are refused with the command that prints more")
  func pool() throws {
    let streams = try server().streams
    #expect(try SnapcastPool(streams, prefix: "p-").sessions.map(\.id) == ["p-1", "p-2"])
    #expect(try SnapcastPool(streams, prefix: "p-").idle == "p-idle")
    #expect(try SnapcastPool(streams.reversed(), prefix: "p").idle == "p-idle")
    do throws(SpeakerError) {
      _ = try SnapcastPool(streams, prefix: "roomtone-")
      Issue.record("no streams are enough")
    } catch { #expect(error.kind == .noStream && error.hint?.contains("snapserver-config") == true) }
  }

  @Test(
    "rendering ahead of a server that plays later: each block is due a lead early, and heard a delay late")
  func pacing() {
    var pacer = Pacer(sampleRate: 48_000, timing: StreamTiming(lead: 100, delay: 1_000))
    #expect(pacer.next(now: 5_000, mode: .clock, isReady: true, latency: 0) == .render(heardAt: 6_000))
    pacer.rendered(frames: 960, now: 5_000)
    #expect(pacer.next(now: 5_000, mode: .clock, isReady: true, latency: 0) == .wait(until: 20_004_900))
    #expect(
      pacer.next(now: 20_004_900, mode: .clock, isReady: true, latency: 0) == .render(heardAt: 20_006_000))
    // The server has waited for a block no longer than one lasts.
    pacer.rendered(frames: 960, now: 20_004_900)
    #expect(
      pacer.next(now: 60_000_000, mode: .clock, isReady: true, latency: 0) == .render(heardAt: 40_006_000))
    // It has waited longer, plays the block where it was expected, and counts anew from the next one.
    pacer.rendered(frames: 960, now: 60_000_000)
    #expect(
      pacer.next(now: 90_000_000, mode: .clock, isReady: true, latency: 0) == .render(heardAt: 70_001_000))
    pacer.rendered(frames: 960, now: 90_000_000)
    #expect(
      pacer.next(now: 90_000_000, mode: .clock, isReady: true, latency: 0) == .render(heardAt: 90_001_000))
    pacer.rendered(frames: 960, now: 90_000_000)
    #expect(pacer.next(now: 90_000_000, mode: .clock, isReady: true, latency: 0) == .wait(until: 109_999_900))
  }
}

extension Array {
  fileprivate subscript(safe index: Int?) -> Element? {
    index.flatMap { indices.contains($0) ? self[$0] : nil }
  }
}

extension RealTimeTests {
  @Suite("Servers that are none, answer wrongly, or not")
  struct HostileSnapserverTests {
    private static let state = """
      {"jsonrpc":"2.0","id":%,"result":{"server":{"groups":[{"id":"g","name":"","muted":false,"stream_id":"roomtone-1",\
      "clients":[{"id":"a","connected":true,"config":{"name":"","volume":{"percent":50,"muted":false}}}]}],\
      "streams":[{"id":"roomtone-1","uri":{"scheme":"pipe","path":"/nowhere"}},\
      {"id":"roomtone-idle","uri":{"scheme":"pipe","path":"/nowhere"}}]}}}
      """

    private func driver(_ loop: EventLoop, port: Int, streams: String? = nil) -> SnapcastDriver {
      var settings = SnapcastSettings()
      settings.port = port
      if let streams { settings.streams = streams }
      let driver = SnapcastDriver(DriverContext(loop: loop), settings)
      driver.responseTime = .milliseconds(500)
      return driver
    }

    @Test(
      "opening fails in time with one line, and takes little memory",
      arguments: [
        HostileSnapserver.Behaviour.silence, .flood(64 << 20), .line("HTTP/1.1 400 Bad Request"), .slow,
        .hangUp,
        .line("[[[[[[[[[["), .line(#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        .line(#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method\u001b[2J not found"}}"#),
      ])
    func opening(behaviour: HostileSnapserver.Behaviour) throws {
      let server = try HostileSnapserver(behaviour)
      let loop = EventLoop()
      let house = House(loop: loop, driver: driver(loop, port: server.port))
      try loop.finish(
        {
          do {
            try await house.open()
            Issue.record("it opened")
          } catch let error as SpeakerError {
            #expect(error.kind == .lost && !error.message.contains("\u{1B}"), "\(error)")
          }
        }, last: { await house.close() })
    }

    @Test("nobody at the port is one line with what to do")
    func nobody() throws {
      let loop = EventLoop()
      let house = House(loop: loop, driver: driver(loop, port: try SnapcastRig.freePorts(1)[0]))
      try loop.finish(
        {
          do {
            try await house.open()
            Issue.record("it opened")
          } catch let error as SpeakerError {
            #expect(
              error.message.hasPrefix("no snapserver answers") && error.hint?.contains("managed") == true)
          }
        }, last: { await house.close() })
    }

    @Test(
      "a server that goes wrong later is lost: its speakers can't be reached",
      arguments: [HostileSnapserver.Behaviour.silence, .flood(64 << 20), .line("nonsense"), .hangUp])
    func later(behaviour: HostileSnapserver.Behaviour) throws {
      let server = try HostileSnapserver(.first(Self.state, then: behaviour))
      let loop = EventLoop()
      let house = House(loop: loop, driver: driver(loop, port: server.port))
      try loop.finish(
        {
          try await house.open(addAll: false)
          #expect(house.devices.map(\.id) == ["a"] && house.devices[0].volume == 25)
          var errors: [String] = []
          house.events.on(.error) { if case .error(let code, _, _, _) = $0 { errors.append(code) } }
          try house.devices[0].setVolume(3)
          for _ in 0..<1000 where house.devices[0].isAvailable {
            try await loop.sleep(for: .milliseconds(10))
          }
          try await loop.sleep(for: .milliseconds(10))
          #expect(!house.devices[0].isAvailable && errors.first == "speaker.lost")
        }, last: { await house.close() })
    }

    /// Returns a state of one client as the server reports it.
    private static func oneClient(name: String, percent: Int, isConnected: Bool = true) -> String {
      """
      {"groups":[{"id":"g","name":"","muted":false,"stream_id":"p-idle","clients":[{"id":"a",\
      "connected":\(isConnected),"host":{"name":"host"},"config":{"name":"\(name)",\
      "volume":{"percent":\(percent),"muted":false}}}]}],\
      "streams":[{"id":"p-1","uri":{"scheme":"pipe","path":"/nowhere"}},\
      {"id":"p-idle","uri":{"scheme":"pipe","path":"/nowhere"}}]}
      """
    }

    @Test(
      "a level and a name that are restored hold until the server has answered, whatever it reports before",
      arguments: [(80, 100, "Küche"), (80, 100, ""), (100, 100, "Küche")])
    func holds(percent: Int, forgotten: Int, name: String) throws {
      func result(_ state: String) -> HostileSnapserver.Action {
        .line(#"{"jsonrpc":"2.0","id":%,"result":{"server":\#(state)}}"#)
      }
      func update(_ percent: Int, _ name: String) -> HostileSnapserver.Action {
        .line(
          #"{"jsonrpc":"2.0","method":"Server.OnUpdate","params":{"server":"#
            + Self.oneClient(name: name, percent: percent) + "}}")
      }
      let known = Self.oneClient(name: name, percent: percent)
      // Its own level comes once with the client, and once more before it has set the restored one.
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [result(known)]), ("Server.GetStatus", [.hangUp]),
          (
            "Server.GetStatus",
            [
              result(Self.oneClient(name: "", percent: forgotten, isConnected: false)), .pause(50),
              update(forgotten, ""),
            ]
          ),
          (
            percent == forgotten ? "Client.SetName" : "Client.SetVolume",
            [
              .pause(50), update(forgotten, ""), .pause(200),
              .line(
                #"{"jsonrpc":"2.0","id":%,"result":{"volume":{"muted":false,"percent":\#(percent)}}}"#),
              .pause(100), update(percent, name), .pause(50), update(44, name),
            ]
          ),
        ]))
      let loop = EventLoop()
      var settings = SnapcastSettings()
      (settings.port, settings.streams) = (server.port, "p-")
      let driver = SnapcastDriver(DriverContext(loop: loop), settings)
      let house = House(loop: loop, driver: driver)
      try loop.finish(
        {
          try await house.open(addAll: false)
          let device = house.devices[0]
          #expect(device.volume == percent / 2)
          var reported: [String] = []
          house.events.on { event in
            switch event {
            case .device(_, let reason): reported.append(reason.rawValue)
            case .volume(_, let volume, _, _, _, _): reported.append("\(volume)")
            default: break
            }
          }
          // The server hangs up, and has forgotten everything when it is back.
          try? await driver.refresh(nil)
          for _ in 0..<1000 where device.volume != 22 { try await loop.sleep(for: .milliseconds(10)) }
          try await loop.sleep(for: .milliseconds(10))
          // The answer reports the level that it has had all the time; then the level of another controller comes.
          #expect(reported == ["unavailable", "available", "22"])
          #expect(device.name == (name.isEmpty ? "a" : name))
        }, last: { await house.close() })
    }

    @Test("a speaker that connects while an older state is on its way becomes available")
    func overtaken() throws {
      func result(isConnected: Bool) -> HostileSnapserver.Action {
        let state = Self.oneClient(name: "", percent: 50, isConnected: isConnected)
        return .line(#"{"jsonrpc":"2.0","id":%,"result":{"server":\#(state)}}"#)
      }
      let connected = HostileSnapserver.Action.line(
        #"{"jsonrpc":"2.0","method":"Client.OnConnect","params":{"id":"a","client":{"id":"a","connected":true,"#
          + #""host":{"name":"host"},"config":{"volume":{"percent":50,"muted":false}}}}}"#)
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [result(isConnected: true)]), ("Server.GetStatus", [.hangUp]),
          ("Server.GetStatus", [connected, result(isConnected: false)]),
          ("Server.GetStatus", [result(isConnected: true)]),
        ]))
      let loop = EventLoop()
      let driver = driver(loop, port: server.port, streams: "p-")
      let house = House(loop: loop, driver: driver)
      try loop.finish(
        {
          try await house.open(addAll: false)
          var reported: [String] = []
          house.events.on(.device) {
            if case .device(_, let reason) = $0 { reported.append(reason.rawValue) }
          }
          try? await driver.refresh(nil)
          for _ in 0..<3000 where reported.count < 2 { try await loop.sleep(for: .milliseconds(10)) }
          #expect(reported == ["unavailable", "available"])
        }, last: { await house.close() })
    }

    @Test("a speaker whose session has no stream leaves it when another controller puts it on another sound")
    func leavesWithoutStream() throws {
      let state = Self.oneClient(name: "", percent: 50)
      let server = try HostileSnapserver(
        .script([
          ("Server.GetStatus", [.line(#"{"jsonrpc":"2.0","id":%,"result":{"server":\#(state)}}"#)]),
          (
            "Server.GetStatus",
            [
              .line(
                #"{"jsonrpc":"2.0","method":"Group.OnStreamChanged","params":{"id":"g","stream_id":"radio"}}"#
              )
            ]
          ),
        ]))
      let loop = EventLoop()
      let driver = driver(loop, port: server.port, streams: "p-")
      let house = House(loop: loop, driver: driver)
      try loop.finish(
        {
          try await house.open(addAll: false)
          // The only stream is the other session's.
          _ = try house.makeSession()
          let session = try house.makeSession(devices: house.devices)
          #expect(session.stream == nil && house.devices[0].session === session)
          try? await driver.refresh(nil)
          #expect(house.devices[0].session == nil)
        }, last: { await house.close() })
    }
  }
}
