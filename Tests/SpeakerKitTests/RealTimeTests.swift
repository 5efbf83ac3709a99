import AudioCore
import EventLoop
import Glibc
import SpeakerKit
import TestSupport
import TestTraits
import Testing

@Suite("In real time, on threads", .waiting, .serialized, .tags(.speaker, .rendering))
struct RealTimeTests {
  /// Gives the calling thread a name of at most 15 bytes.
  private func nameThread(_ name: String) throws {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    try #require(file >= 0)
    defer { close(file) }
    #expect(write(file, name, name.utf8.count) == name.utf8.count)
  }

  /// Returns the number of this process's threads with a name; -1 when they can't be listed.
  private func threads(named name: String) throws -> Int {
    guard let folder = opendir("/proc/self/task") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
      let thread = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      // A thread may end between the listing and the look.
      guard let bytes = try? readBytes("/proc/self/task/\(thread)/comm") else { continue }
      if String(decoding: bytes, as: UTF8.self) == name + "\n" { count += 1 }
    }
    return count
  }

  @Test("files are complete and exact, and playing takes their length")
  func files() throws {
    var source: Sound?
    let clock = ContinuousClock()
    var took = Duration.zero
    let harness = try HouseHarness.run(isVirtual: false) { harness in
      let path = try harness.source("a.wav", Signal.noise(seed: 7, frames: 48_001))
      source = try Sound(file: path)
      harness.record()
      let start = clock.now
      try await harness.house.session.play(path)
      #expect(try await harness.house.session.finish() == .ended(.finished))
      took = start.duration(to: clock.now)
      try await harness.wait(0.01)
      #expect(
        harness.reportedBySession == ["state playing", "time 1", "state stopped", "ended a.wav finished"])
    }
    #expect(try harness.played("A") == source)
    #expect(try harness.played("B") == source)
    #expect(took > .milliseconds(990) && took < .seconds(60))
  }

  @Test("a loop that is hogged for a second leaves no gap and no step in the files")
  func hogged() throws {
    var source: Sound?
    let harness = try HouseHarness.run(isVirtual: false) { harness in
      let path = try harness.source("a.wav", Signal.noise(seed: 8, frames: 72_000))
      source = try Sound(file: path)
      try await harness.house.session.play(path)
      try await harness.wait(0.1)
      usleep(1_000_000)
      // The audio continued meanwhile; on a busy machine it may not have got far.
      var tries = 0
      while harness.house.session.position <= 40_000, tries < 6_000 {
        usleep(10_000)
        tries += 1
      }
      #expect(harness.house.session.position > 40_000)
      _ = try await harness.house.session.finish()
    }
    #expect(try harness.played("A") == source)
    #expect(try harness.played("B") == source)
  }

  @Test("without an output time passes all the same: pause, seek, end")
  func silent() throws {
    try HouseHarness.run(isVirtual: false, output: .null) { harness in
      let session = harness.house.session
      let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
      harness.record()
      let start = ContinuousClock.now
      try await session.play(path)
      try await harness.wait { session.position > 9_000 }
      let (position, passed) = (session.position, start.duration(to: .now))
      // A tenth of a second more than has passed, at most.
      #expect(position > 9_000 && Double(position) / 48_000 - 0.1 <= passed / .seconds(1))
      session.pause()
      try await harness.rest(session)
      try session.seek(toSeconds: 9.8)
      try await harness.wait(0.3)
      #expect(session.position == 470_400)
      try session.resume()
      #expect(try await session.finish(timeout: .seconds(60)) == .ended(.finished))
      try await harness.wait(0.01)
      // The pause may have come late, after the first second.
      #expect(
        harness.reportedBySession.filter { $0 != "time 1" } == [
          "state playing", "state paused", "state playing", "time 10", "state stopped",
          "ended a.wav finished",
        ])
    }
  }

  @Test("a joined speaker is in step with the others, and nothing clicks")
  func joins() throws {
    let harness = try HouseHarness.run(isVirtual: false) { harness in
      try await harness.house.devices[1].leave()
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.sine(200, amplitude: 0.9, frames: 480_000, sampleRate: 48_000)))
      try await harness.wait { harness.house.session.position > 14_400 }
      try await harness.house.devices[1].join()
      try await harness.wait(0.2)
      // There was time enough, however busy the machine is; the rest need not be waited for.
      try harness.house.session.seek(toSeconds: 9.7)
      _ = try await harness.house.session.finish()
    }
    let (first, second) = (try harness.played("A"), try harness.played("B"))
    let joined = try #require(second.channels[0].firstIndex { $0 != 0 }) / 960 * 960
    #expect(joined >= 12_000 && second.frameCount == first.frameCount)
    #expect(second.channels[0][(joined + 960)...] == first.channels[0][(joined + 960)...])
    #expect(second.clicks().isEmpty)
  }

  @Test("a speaker that is put up later has a file as long as the others', silent up to when it joined")
  func added() throws {
    let harness = try HouseHarness.run(isVirtual: false) { harness in
      let controls = try harness.house.controls()
      try await harness.house.session.play(
        try harness.source("a.wav", Signal.noise(seed: 3, frames: 480_000)))
      try await harness.wait { harness.house.session.position > 14_400 }
      let late = try controls.add(SpeakerSpec(name: "C", volume: 50))
      try await late.join()
      try await harness.wait(0.2)
      // Never heard, but present.
      try controls.add(SpeakerSpec(name: "D", volume: 50))
      try harness.house.session.seek(toSeconds: 9.7)
      _ = try await harness.house.session.finish()
      // After the last block.
      try controls.add(SpeakerSpec(name: "a", volume: 50))
    }
    let first = try harness.played("A")
    let late = try harness.played("C")
    let joined = try #require(late.channels[0].firstIndex { $0 != 0 }) / 960 * 960
    #expect(joined >= 12_000)
    #expect(late.frameCount == first.frameCount)
    #expect(late.channels[0][(joined + 960)...] == first.channels[0][(joined + 960)...])
    for name in ["D", "a 2"] {
      let silent = try harness.played(name)
      #expect(silent.frameCount == first.frameCount)
      #expect(silent.channels[0].allSatisfy { $0 == 0 })
    }
  }

  @Test("a speaker that is put up before anything played gets what the others get")
  func addedFirst() throws {
    let harness = try HouseHarness.run(isVirtual: false) { harness in
      try await harness.house.controls().add(SpeakerSpec(name: "C", volume: 50)).join()
      try await harness.house.session.play(try harness.source("a.wav", Signal.noise(seed: 4, frames: 4_801)))
      _ = try await harness.house.session.finish()
    }
    #expect(try harness.played("C") == harness.played("A"))
  }

  @Test(
    "a speaker that is put up later and whose file can't be written is reported; the others' files are whole")
  func addedOnFullDisk() throws {
    var devices: [String?] = []
    let harness = try HouseHarness.run(isVirtual: false) { harness in
      harness.house.events.on(.error) { devices.append($0.device?.name) }
      try await harness.house.session.play(try harness.source("a.wav", Signal.noise(seed: 5, frames: 24_000)))
      #expect(mkdir(harness.folder.file("out/C.wav"), 0o755) == 0)
      try harness.house.controls().add(SpeakerSpec(name: "C", volume: 50))
      _ = try await harness.house.session.finish()
      try await harness.wait(0.1)
      try await harness.wait { !devices.isEmpty }
    }
    #expect(devices == ["C"])
    #expect(try harness.played("A").frameCount == 24_000)
  }

  @Test("two houses of one process do not know of each other")
  func twoHouses() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.wav")
    let source = Sound(sampleRate: 48_000, channels: [Signal.noise(seed: 1, frames: 24_000)])
    try source.write(to: path)
    let loop = EventLoop()
    var open = 2
    for name in ["one", "two"] {
      loop.start {
        let driver = HouseDriver(
          DriverContext(loop: loop), speakers: HouseHarness.pair, output: .wav(folder: folder.file(name)))
        let house = House(loop: loop, driver: driver)
        do {
          try await house.open(addAll: true)
          try await house.session.play(path)
          if name == "two" { house.session.stop() }
          _ = try await house.session.finish()
        } catch { Issue.record("\(error)") }
        await house.close()
        loop.after(.milliseconds(1)) { open -= 1 }
      }
    }
    #expect(loop.run(until: { open == 0 }) == .done)
    loop.close()
    #expect(try Sound(file: folder.file("one/A.wav")).frameCount == 24_000)
    #expect(try Sound(file: folder.file("two/A.wav")).frameCount < 24_000)
  }

  @Test("a house that was never closed ends its threads when it goes")
  func dropped() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.wav")
    try Sound(sampleRate: 48_000, channels: [Signal.constant(0.5, frames: 480_000)]).write(to: path)
    weak var gone: House?
    do {
      let loop = EventLoop()
      let driver = HouseDriver(DriverContext(loop: loop), output: .wav(folder: folder.file("out")))
      let house = House(loop: loop, driver: driver)
      gone = house
      var isPlaying = false
      loop.start {
        try? await house.open(addAll: true)
        try? await house.session.play(path)
        for _ in 0..<6_000 where house.session.position <= 4_800 {
          try? await loop.sleep(for: .milliseconds(10))
        }
        loop.after(.milliseconds(1)) { isPlaying = true }
      }
      #expect(loop.run(until: { isPlaying }) == .done)
      loop.close()
    }
    #expect(gone == nil)
    #expect(try Sound(file: folder.file("out/Kitchen.wav")).frameCount > 960)
  }

  @Test("a closed house has ended all its threads")
  func threads() throws {
    // A thread inherits the name of the one that starts it: these belong to this test, whatever runs beside.
    let name = "house-\(getpid() % 10_000)"
    let old = String(decoding: try readBytes("/proc/thread-self/comm"), as: UTF8.self)
    try nameThread(name)
    defer { try? nameThread(old) }
    for _ in 0..<3 {
      try HouseHarness.run(isVirtual: false, speakers: nil) { harness in
        let path = try harness.source("a.wav", Signal.constant(0.5, frames: 480_000))
        try await harness.house.session.play(path)
        try await harness.wait(0.05)
        #expect(try self.threads(named: name) >= 1 + 8)
      }
    }
    // The kernel needs a moment to remove a thread that was joined.
    for _ in 0..<500 where try threads(named: name) != 1 { usleep(10_000) }
    #expect(try threads(named: name) == 1)
  }
}
