import AudioCore
import EventLoop
import Glibc
import HTTP
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// Test harness: a house of a hub, with a record of its events. Used on the thread that calls `run`.
final class HubHarness {
  let loop: EventLoop
  let house: House
  let driver: HubDriver
  let hub: Hub
  let folder: TemporaryFolder
  /// Lines of the driver's log.
  private(set) var logged: [String] = []
  /// Events; those that another controller has caused begin with `*`.
  private(set) var reported: [String] = []

  private init(_ loop: EventLoop, _ hub: Hub, tokenFile: String?) throws {
    (self.loop, self.hub, folder) = (loop, hub, try TemporaryFolder())
    let network = try NetworkThread()
    var settings = try HubSettings(url: hub.url)
    settings.tokenFile = tokenFile
    var log: (String) -> Void = { _ in }
    driver = HubDriver(loop: loop, settings: settings, network: { network }, log: { log($0) })
    (driver.pollTime, driver.retryTime) = (.milliseconds(50), .milliseconds(100))
    house = House(loop: loop, driver: driver)
    log = { [weak self] in self?.logged.append($0) }
  }

  static func run(
    _ hub: Hub? = nil, addAll: Bool = true, tokenFile: String? = nil,
    set: (HubDriver) -> Void = { _ in }, _ body: @escaping (HubHarness) async throws -> Void
  ) throws {
    let loop = EventLoop()
    let harness = try HubHarness(loop, try hub ?? Hub(), tokenFile: tokenFile)
    set(harness.driver)
    try loop.finish(
      {
        try await harness.house.open(addAll: addAll)
        harness.record()
        try await body(harness)
      }, last: { await harness.house.close() })
  }

  private func record() {
    house.events.on { [unowned self] event in
      let mark = house.events.isByController ? "*" : ""
      switch event {
      case .device(_, .playing): break
      case .device(let device, let reason): reported.append("\(mark)\(device.id) \(reason.rawValue)")
      case .volume(let device, let volume, let muted, _, _):
        reported.append("\(mark)\(device.id) \(volume)\(muted ? " muted" : "")")
      case .state(let state, _): reported.append(state.rawValue)
      case .ended(_, _, let reason): reported.append("ended \(reason.rawValue)")
      case .error(let code, _, _, _): reported.append("error \(code)")
      case .time, .track, .suspension: break
      }
    }
  }

  /// Forgets the events so far.
  func forget() { reported = [] }

  /// Writes a file of a rising ramp at 48 kHz, so that each frame says its place.
  func ramp(seconds: Double) throws -> String {
    let path = folder.file("ramp.wav")
    let samples = (0..<Int(seconds * 48_000)).map { Float($0 / 48) / 32_768 }
    try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
    return path
  }

  /// Returns the sound of a medium that the hub has fetched.
  func fetched(_ number: Int) throws -> Sound {
    try Sound(file: try folder.write(hub.media[number], to: "fetched.wav"))
  }

  func wait(_ seconds: Double) async throws { try await loop.sleep(for: .seconds(seconds)) }

  /// Waits until `condition`, and until the events of that turn of the loop have been delivered.
  /// - Throws: `TestFailure` after 30 s.
  func wait(until condition: () throws -> Bool) async throws {
    for _ in 0..<3000 {
      let isMet = try condition()
      try await wait(0.01)
      if isMet { return }
    }
    throw TestFailure("it did not come: \(reported), \(hub.orders)")
  }

  /// Returns the code of the error that `body` throws; nil for none.
  func code(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch { return (error as? any CodedError)?.code ?? "\(error)" }
  }
}

extension RealTimeTests {
  @Suite("The hkwhub driver on a hub")
  struct HubTests {
    @Test(
      "the hub fetches a file as WAV, bit for bit, from a path that nobody can guess, and plays it to its end"
    )
    func plays() throws {
      try HubHarness.run { harness in
        let path = try harness.ramp(seconds: 1)
        try await harness.house.device("Bedroom").leave()
        try await harness.house.session.play(path)
        try await harness.wait { harness.hub.mediaURL != nil }
        let url = try #require(harness.hub.mediaURL)
        let name = try #require(url.split(separator: "/").dropFirst(2).first)
        #expect(url.hasPrefix("http://127.0.0.1:") && name.count == 32 && name.allSatisfy(\.isHexDigit))
        #expect(try await harness.house.session.finish(timeout: .seconds(20)) == .ended(.finished))
        #expect(try harness.fetched(0).channels == Sound(file: path).channels)
        let play = try #require(harness.hub.commands.first { $0.name.hasPrefix("play_web_media") })
        #expect(play.parameters["DeviceIDList"] == "101")
        // The path is void when the sound has ended.
        #expect(try HubTests.status(of: url) == 404)
      }
    }

    /// Returns the status of the answer to a request; with the words of `range` behind the head where it is given.
    private static func status(of url: String, method: String = "GET", range: String? = nil) throws -> Int {
      let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", method]
      let result = try Command.run("curl", arguments + (range.map { ["-r", $0] } ?? []) + [url])
      return Int(String(decoding: result.output, as: UTF8.self)) ?? 0
    }

    @Test("pause stops the sound, resume and seek have the hub fetch it from there")
    func repositions() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 20))
        try await harness.wait { session.position > 9_600 }
        session.pause()
        let position = session.position
        try await harness.wait(0.3)
        #expect(session.position == position && harness.hub.mediaURL == nil && session.state == .paused)
        try session.resume()
        try await harness.wait { session.position > position + 4_800 }
        try session.seek(toSeconds: 15)
        try await harness.wait { harness.hub.media.count == 3 && harness.hub.media[2].count > 1_000 }
        try await harness.wait { session.position > 15 * 48_000 }
        for (number, frame) in [(1, position), (2, 15 * 48_000)] {
          let first = try #require(try harness.fetched(number).channels.first?.first)
          #expect(first == Float(frame / 48) / 32_768, "medium \(number) begins at \(first * 32_768) ms")
        }
        session.stop()
        try await harness.wait { harness.hub.mediaURL == nil }
        #expect(harness.hub.orders.filter { $0 == "stop_play" }.count == 2)
      }
    }

    @Test(
      "levels go to the hub, mute is level 0 and keeps the level; its app's changes are events with their cause"
    )
    func levels() throws {
      try HubHarness.run { harness in
        let kitchen = try harness.house.device("Kitchen")
        func volume() -> String { harness.hub.speakers[0].volume }
        try kitchen.setVolume(40)
        try await harness.wait { kitchen.volume == 40 }
        #expect(volume() == "\"40\"")
        try kitchen.mute()
        try await harness.wait { kitchen.isMuted }
        try await harness.wait(0.2)
        #expect(volume() == "\"0\"" && kitchen.volume == 40 && kitchen.isMuted)
        try kitchen.unmute()
        try await harness.wait { !kitchen.isMuted }
        #expect(volume() == "\"40\"")
        #expect(harness.reported == ["101 40", "101 40 muted", "101 40"])
        harness.forget()
        harness.hub.change { $0[0].volume = "11" }
        try await harness.wait { kitchen.volume == 11 }
        harness.hub.change { speakers in
          (speakers[0].name, speakers[1].group, speakers[1].wifiSignal) = ("\"Küche\"", "\"Upstairs\"", -80)
          speakers[1].isActive = false
        }
        try await harness.wait { harness.reported.contains("*102 left") }
        let bedroom = try harness.house.device("Bedroom")
        #expect(kitchen.name == "Küche" && bedroom.groupName == "Upstairs" && bedroom.wifiSignal == -80)
        #expect(
          harness.reported.sorted() == ["*101 11", "*101 renamed", "*102 left", "*102 regrouped", "102 wifi"])
        // Fifty steps at once are not fifty requests in a queue.
        func orders() -> Int { harness.hub.orders.count { $0 == "set_volume_device" } }
        let before = orders()
        for volume in 0...50 { try kitchen.setVolume(volume) }
        try await harness.wait { kitchen.volume == 50 }
        #expect(volume() == "\"50\"" && orders() - before < 10)
      }
    }

    @Test("speakers with names that are empty, equal or endless, and a volume of 65531")
    func oddSpeakers() throws {
      var speakers = [
        Hub.Speaker("1", name: ""), Hub.Speaker("2", name: "Twin"), Hub.Speaker("3", name: "Twin"),
        Hub.Speaker("4", name: String(repeating: "ü", count: 300)), Hub.Speaker("4", name: "Double"),
        Hub.Speaker("", name: "No id"), Hub.Speaker("5,6", name: "List"),
      ]
      (speakers[0].volume, speakers[1].volume, speakers[2].volume) = ("65531", "-5", "null")
      (speakers[1].group, speakers[2].name) = ("17", "\"Twin\\u001b[31m\"")
      try HubHarness.run(Hub(speakers)) { harness in
        let devices = harness.house.devices
        #expect(devices.map(\.id) == ["1", "2", "3", "4"])
        #expect(devices.map(\.volume) == [50, 0, 0, 25])
        #expect(devices[0].name == "Omni Adapt" && devices[3].name == String(repeating: "ü", count: 100))
        #expect(
          Set(devices.map(\.name)).count == 4 && devices.allSatisfy { NameRule.problem(with: $0.name) == nil }
        )
        try await harness.wait(0.3)
        #expect(harness.logged.count == 2 && harness.reported.isEmpty, "\(harness.logged)")
        // It keeps its name when its twin has another one.
        let twin = devices[2].name
        harness.hub.change { $0[1].name = "\"Only\"" }
        try await harness.wait { devices[1].name == "Only" }
        #expect(devices[2].name == twin)
      }
    }

    @Test("a session that has expired is opened anew, and the command is repeated once")
    func expiry() throws {
      try HubHarness.run { harness in
        try await harness.wait { harness.hub.speakers.allSatisfy(\.isActive) }
        harness.hub.expireSessions()
        try harness.house.device("Kitchen").setVolume(7)
        try await harness.wait { harness.hub.speakers[0].volume == "\"7\"" }
        #expect(harness.hub.commands.count { $0.name == "init_session" } == 2)
        #expect(harness.reported == ["101 7"])
        // A hub that forgets at once is no reason to ask for ever.
        harness.hub.fault(
          "set_volume_device", .page("{\"Error\":\"SessionNotFound\"}", type: "application/json"))
        let before = harness.hub.commands.count { $0.name == "set_volume_device" }
        try harness.house.device("Kitchen").setVolume(8)
        try await harness.wait { harness.reported.contains("error speaker.unavailable") }
        #expect(harness.hub.commands.count { $0.name == "set_volume_device" } == before + 2)
      }
    }

    @Test("a hub that vanishes while it plays comes back with its members, its level and its sound")
    func vanishes() throws {
      try HubHarness.run { harness in
        let (session, kitchen) = (harness.house.session, try harness.house.device("Kitchen"))
        try await session.play(try harness.ramp(seconds: 30))
        try await harness.wait { session.position > 24_000 }
        harness.hub.station.refuse()
        harness.hub.restart()
        try kitchen.setVolume(33)
        try await harness.wait { !kitchen.isAvailable }
        #expect(harness.reported.filter { $0.hasPrefix("error") } == ["error speaker.lost"])
        let position = session.position
        try await harness.wait(0.5)
        #expect(session.position == position && session.state == .playing)
        harness.hub.station.accept()
        try await harness.wait { kitchen.isAvailable && harness.hub.mediaURL != nil }
        try await harness.wait { session.position > position + 9_600 }
        #expect(harness.hub.speakers.allSatisfy(\.isActive) && harness.hub.speakers[0].volume == "\"33\"")
        let first = try #require(try harness.fetched(1).channels.first?.first)
        #expect(first == Float(position / 48) / 32_768)
        #expect(
          harness.reported.filter { $0.hasPrefix("error") || $0.hasPrefix("ended") } == ["error speaker.lost"]
        )
      }
    }

    @Test(
      "an answer that is wrong, endless, late or none is an error with words, and the hub is tried again",
      arguments: [
        "no JSON", "a list", "status 500", "no HTTP", "64 MB", "64 MB without a length", "a stall",
        "slowness",
        "a redirect",
      ])
    func hostile(kind: String) throws {
      // Kept out of the arguments, which are printed.
      let large = { Answer.page([UInt8](repeating: 32, count: 64 << 20), type: "application/json") }
      let answer: Answer =
        switch kind {
        case "no JSON": .page("no json")
        case "a list": .page("[1, 2]")
        case "status 500": .status("500 Internal Server Error")
        case "no HTTP": .raw("garbage")
        case "64 MB": large()
        case "64 MB without a length": large().chunked(65_536)
        case "a stall": .page("{}").stalling(at: 0)
        case "slowness": .page("{}").withSlowHead(.seconds(1))
        default: .redirect(to: "/elsewhere")
        }
      let hub = try Hub()
      try HubHarness.run(hub, set: { $0.responseTime = .milliseconds(500) }) { harness in
        hub.fault("*", answer)
        try await harness.wait { harness.house.devices.allSatisfy { !$0.isAvailable } }
        #expect(harness.reported.first == "error speaker.lost")
        #expect(await harness.code { try await harness.house.refresh() } == "speaker.lost")
        hub.fault("*", nil)
        try await harness.wait { harness.house.devices.allSatisfy(\.isAvailable) }
        #expect(harness.reported.count { $0.hasPrefix("error") } == 1)
      }
      hub.fault("*", answer)
      #expect(throws: SpeakerError.self) {
        try HubHarness.run(hub, set: { $0.responseTime = .milliseconds(500) }) { _ in }
      }
    }

    @Test("answers of another form are logged, not believed")
    func otherForms() throws {
      try HubHarness.run { harness in
        for (command, text) in [
          ("device_list", "{\"DeviceList\":7}"), ("playback_status", "{\"PlaybackState\":1}"),
        ] {
          harness.hub.fault(command, .page(text))
        }
        try await harness.house.session.play(try harness.ramp(seconds: 5))
        try await harness.wait { harness.logged.count == 2 }
        try await harness.wait(0.2)
        #expect(harness.logged.count == 2 && harness.house.devices.allSatisfy(\.isAvailable))
        #expect(harness.house.session.state == .playing)
      }
    }

    @Test("a sound that the hub refuses, or stops before its end, has failed")
    func failures() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        harness.hub.fault("play_web_media_selected_speakers", .page("{\"Result\":\"false\"}"))
        try await session.play(try harness.ramp(seconds: 20))
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.failed))
        harness.hub.fault("play_web_media_selected_speakers", nil)
        try await session.play(try harness.ramp(seconds: 20))
        try await harness.wait { session.position > 9_600 }
        harness.hub.stopPlaying()
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.failed))
        #expect(
          harness.reported.contains("error speaker.unavailable")
            && harness.reported.contains("error speaker.lost"))
      }
    }

    @Test("a sound whose end is sought has finished; a list that is refused is asked for again")
    func edges() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 5))
        try session.seek(toSeconds: 5)
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.finished))
        harness.hub.fault("device_list", .page("{\"Result\":\"false\"}"))
        try await harness.wait { !harness.logged.isEmpty }
        try await harness.wait(0.2)
        #expect(harness.logged == ["the hub refuses device_list"])
        harness.hub.fault("device_list", nil)
        harness.hub.change { $0[0].volume = "9" }
        try await harness.wait { harness.reported.contains("*101 9") }
        #expect(harness.house.devices.allSatisfy { $0.isAvailable })
      }
    }

    @Test("a queue is one sound without a gap; its files are announced when they are heard")
    func queues() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        let entries = try (1...3).map { number in
          let path = harness.folder.file("\(number).wav")
          let samples = Signal.constant(Float(number) / 8, frames: 12_000)
          try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
          return QueueEntry(path: path)
        }
        var tracks: [Int] = []
        harness.house.events.on(.track) { if case .track(_, _, let index, _) = $0 { tracks.append(index) } }
        let clock = ContinuousClock()
        let start = clock.now
        try await session.play(try #require(FileQueue(entries, loops: false, seed: nil)))
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.finished))
        #expect(start.duration(to: clock.now) < .seconds(9))
        let heard = try harness.fetched(0).channels[0]
        let expected = (1...3).flatMap { Signal.constant(Float($0) / 8, frames: 12_000) }
        #expect(heard == expected && tracks == [1, 2, 3], "\(heard.count) frames, \(tracks)")
      }
    }

    @Test("a looped file is endless, and the hub receives no more than ten seconds ahead")
    func loops() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        let start = ContinuousClock.now
        try await session.play(try harness.ramp(seconds: 0.25), loops: true)
        try await harness.wait { harness.hub.media.first.map { $0.count > 192_000 * 9 } ?? false }
        try await harness.wait { session.position < 6_000 && start.duration(to: .now) > .milliseconds(600) }
        let received = Double(try #require(harness.hub.media.first).count) / 192_000
        #expect(received < start.duration(to: .now) / .seconds(1) + 10.5, "\(received) s")
        let heard = try #require(harness.hub.media.first)[44..<44 + 192_000]
        #expect(heard.prefix(48_000).elementsEqual(heard.dropFirst(48_000).prefix(48_000)))
        #expect(session.duration == 12_000 && session.state == .playing)
      }
    }

    @Test("at rest the hub is asked for its speakers alone, once an interval")
    func polling() throws {
      try HubHarness.run(set: { $0.pollTime = .milliseconds(200) }) { harness in
        try await harness.wait(1.1)
        let names = harness.hub.commands.map(\.name)
        #expect((1...6).contains(names.count { $0 == "device_list" }), "\(names)")
        #expect(!names.contains("playback_status"))
        try await harness.house.session.play(try harness.ramp(seconds: 5))
        try await harness.wait { harness.hub.commands.contains { $0.name == "playback_status" } }
      }
    }

    @Test("the house is closed while the hub hangs")
    func closesWhileItHangs() throws {
      let hub = try Hub()
      var closing: ContinuousClock.Instant?
      try HubHarness.run(hub) { harness in
        try await harness.house.session.play(try harness.ramp(seconds: 30))
        hub.fault("*", .page("{}").stalling(at: 0))
        try harness.house.setVolume(3)
        try await harness.wait(0.1)
        closing = .now
      }
      #expect(try #require(closing).duration(to: .now) < .seconds(20))
      #expect(!hub.commands.contains { $0.name == "close_session" })
    }

    @Test("what was stopped while the hub was away is stopped when it is back")
    func stopsLate() throws {
      try HubHarness.run { harness in
        let session = harness.house.session
        try await session.play(try harness.ramp(seconds: 30))
        try await harness.wait { session.position > 9_600 }
        harness.hub.station.refuse()
        try await harness.wait { harness.house.devices.allSatisfy { !$0.isAvailable } }
        session.stop()
        #expect(harness.hub.mediaURL != nil)
        harness.hub.station.accept()
        try await harness.wait { harness.hub.mediaURL == nil }
        #expect(harness.hub.orders.contains("stop_play"))
      }
    }

    @Test("a live source is an endless WAV as it arrives, and goes on after a pause without a gap")
    func live() throws {
      try HubHarness.run { harness in
        let tone = LiveTone(frames: 48_000)
        let session = harness.house.session
        try await session.play(tone, as: SourceInfo(path: "tone", title: "tone"))
        try await harness.wait { harness.hub.media.first?.count == 44 + 192_000 }
        try await harness.wait { session.position > 9_600 }
        session.pause()
        let position = session.position
        try session.resume()
        try await harness.wait { harness.hub.media.count == 2 && harness.hub.media[1].count > 44 }
        tone.receive(24_000, isLast: true)
        #expect(try await session.finish(timeout: .seconds(20)) == .ended(.finished))
        let rest = try harness.fetched(1)
        #expect(rest.frameCount == 72_000 - position && tone.decodersMade == 1)
        #expect(
          rest.channels[0][0] == SampleConversion.float(SampleConversion.int16(LiveTone.sample(position))))
      }
    }

    @Test("a token is sent with each request; a file that others can read is refused")
    func tokens() throws {
      let folder = try TemporaryFolder()
      let file = try folder.write(Array("secret\n".utf8), to: "hub.token")
      chmod(file, 0o600)
      let hub = try Hub([Hub.Speaker("1", name: "A")], token: "secret")
      try HubHarness.run(hub, tokenFile: file) { #expect($0.house.devices.count == 1) }
      #expect(hub.commands.allSatisfy { $0.authorization == "Bearer secret" })
      #expect(hub.orders.last == "close_session")
      chmod(file, 0o644)
      #expect(throws: SpeakerError.self) { try HubHarness.run(hub, tokenFile: file) { _ in } }
      #expect(throws: SpeakerError.self) { try HubHarness.run(hub) { _ in } }
    }

    @Test("speakers that the hub does not list any more are unavailable; new ones are added")
    func comesAndGoes() throws {
      try HubHarness.run { harness in
        try await harness.wait { harness.hub.speakers.allSatisfy(\.isActive) }
        let bedroom = harness.hub.speakers[1]
        harness.hub.change { $0 = [$0[0], Hub.Speaker("103", name: "Bath")] }
        try await harness.wait { harness.house.devices.count == 3 }
        #expect(harness.reported == ["102 unavailable", "103 added"])
        harness.hub.change { speakers in
          speakers.append(bedroom)
          speakers[2].isActive = false
        }
        // It is a member again when the hub has it again.
        try await harness.wait { harness.hub.speakers.last?.isActive == true }
        let again = try harness.house.device("Bedroom")
        #expect(again.isActive && again.isAvailable)
      }
    }

    @Test("the endpoint answers GET and HEAD of what plays, in ranges too, and nothing else")
    func endpoint() throws {
      let folder = try TemporaryFolder()
      let path = folder.file("a.wav")
      let samples = Signal.noise(seed: 3, amplitude: 0.5, frames: 4_800)
      try Sound(sampleRate: 48_000, channels: [samples, samples]).write(to: path)
      let server = try MediaServer(address: "127.0.0.1", port: 0)
      let format = AudioFormat.session
      let source = try MediaSource.open(SourceRequest(path: path), format: format)
      let media = Media(source, from: 0, format: format)
      let url = server.url(try server.publish(media))
      let whole = try Command.run("curl", ["-s", url]).output
      #expect(whole.count == 44 + 19_200 && media.progress.withLock { $0.isComplete })
      for (first, last) in [(0, 1), (40, 60), (45, 46), (1_000, 9_999), (19_000, 19_243)] {
        let part = try Command.run("curl", ["-s", "-r", "\(first)-\(last)", url]).output
        #expect(Array(part) == Array(whole[first...last]), "\(first)-\(last)")
      }
      #expect(try Self.status(of: url, range: "0-1") == 206)
      #expect(try Self.status(of: url, range: "99999-") == 416)
      #expect(try Self.status(of: url, method: "POST") == 405)
      #expect(try Self.status(of: server.url("/")) == 404)
      #expect(try Self.status(of: server.url("/../etc/passwd")) == 404)
      let other = #expect(throws: SpeakerError.self) {
        try MediaServer(address: "127.0.0.1", port: server.port)
      }
      #expect(other?.message.contains("port \(server.port)") == true && other?.hint != nil)
      server.stop()
      #expect(try Self.status(of: url) == 0)
    }

    @Test("the endpoint ends without holding up the loop while a file system does not answer")
    func closesBesideAHungMount() throws {
      let loop = EventLoop()
      let sound = SilentSound(frames: 4_800)
      let server = try MediaServer(address: "127.0.0.1", port: 0)
      let source = try MediaSource.open(SourceRequest(sound, name: "sound"), format: .session)
      let media = Media(source, from: 0, format: .session)
      let url = server.url(try server.publish(media))
      let fetching = try TestThread { _ = try? Command.run("curl", ["-s", "-m", "60", url]) }
      defer { fetching.join() }
      var turns = 0
      try loop.finish(
        {
          while media.progress.withLock({ $0.begun }) == nil { try await loop.sleep(for: .milliseconds(10)) }
          // The connection is in its next read by then, which does not return.
          try await loop.sleep(for: .milliseconds(200))
          loop.after(.milliseconds(100)) { turns += 1 }
          let release = try TestThread {
            usleep(1_000_000)
            sound.isReleased.store(true, ordering: .relaxed)
          }
          defer { release.join() }
          await server.close(on: loop)
          #expect(turns == 1 && sound.isReleased.load(ordering: .relaxed))
        }, last: {})
    }

    @Test("a medium plays at the priority of its session")
    func priority() throws {
      try HubHarness.run { harness in
        let path = try harness.ramp(seconds: 5)
        let session = harness.house.session
        try await session.play(path)
        try await session.play(path, priority: 250)
        await #expect(throws: AudioError.self) { try await session.play(path + ".none", priority: 7) }
        try session.seek(toSeconds: 1)
        try await harness.wait { harness.hub.orders.count { $0 == "play_web_media_selected_speakers" } >= 3 }
        let priorities = harness.hub.commands.compactMap { $0.parameters["Priority"] }
        #expect(priorities == ["100", "250", "250"])
      }
    }

    @Test("addresses that are none are refused by their option")
    func addresses() throws {
      #expect(try HubSettings(url: "http://127.0.0.1:8080/").serve == "127.0.0.1")
      let settings = try HubSettings(url: "http://hub.example:8080", serve: "192.0.2.2:8090")
      #expect(settings.serve == "192.0.2.2" && settings.servePort == 8090)
      for (url, serve, option) in [
        ("hub", nil, "url"), ("ftp://192.0.2.7", nil, "url"), ("http://a:b@192.0.2.7", nil, "url"),
        ("http://hub.example", nil, "serve"), ("http://192.0.2.7", "everywhere", "serve"),
        ("http://192.0.2.7", "0.0.0.0", "serve"), ("http://192.0.2.7", "192.0.2.2:0", "serve"),
        ("http://192.0.2.7", "192.0.2.2:x", "serve"),
      ] as [(String, String?, String)] {
        let error = #expect(throws: SpeakerError.self) { try HubSettings(url: url, serve: serve) }
        #expect(error?.facts == [.init("option", .string(option))], "\(url) \(serve ?? "")")
      }
    }
  }
}
