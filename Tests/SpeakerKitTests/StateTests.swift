import AudioCore
import EventLoop
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("The stored state of a house", .tags(.speaker, .recovery))
struct StateTests {
  /// Opens a house over `folder`, runs `body` and closes it.
  private func run(
    _ folder: String, _ specs: [SpeakerSpec] = EditingTests.three, output: Output = .null,
    access: HouseAccess = .drive, wait: Duration = .zero, isVirtual: Bool = true,
    log: @escaping (String) -> Void = { _ in }, _ body: @escaping (House) async throws -> Void
  ) throws {
    let loop = EventLoop(clock: isVirtual ? .virtual(start: WallTime(seconds: 0)) : .wall)
    let driver = HouseDriver(
      DriverContext(
        loop: loop, stateFolder: folder, access: access, wait: wait, processName: "test \u{7}run", log: log),
      speakers: specs, output: output)
    let house = House(loop: loop, driver: driver)
    try loop.finish(
      {
        try await house.open(addAll: true)
        try await body(house)
      }, last: { await house.close() })
  }

  @Test("the next run finds names, groups and their order, levels, roles and balance as they were left")
  func keeps() throws {
    let folder = try TemporaryFolder()
    let state = folder.file("a/state")
    try run(state) { house in
      try await house.devices[0].setName("Küche = 1")
      try await house.devices[0].leaveGroup()
      try await house.devices[0].setGroup("Room")
      try house.devices[1].setVolume(7)
      try house.devices[1].mute()
      try house.devices[2].setRole(.left)
      try house.devices[2].setBalance(-4)
      try await house.loop.sleep(for: .milliseconds(10))
    }
    try run(state) { house in
      #expect(house.devices.map(\.name) == ["Küche = 1", "B", "C"])
      #expect(try house.group("Room").devices.map(\.name) == ["B", "C", "Küche = 1"])
      #expect(house.devices[1].volume == 7 && house.devices[1].isMuted)
      #expect(house.devices[2].role == .left && house.devices[2].balance == -4)
      // Later joins come after those of earlier runs.
      try await house.devices[1].leaveGroup()
      try await house.devices[1].setGroup("Room")
      #expect(try house.group("Room").devices.map(\.name) == ["C", "Küche = 1", "B"])
    }
  }

  @Test(
    "speakers that have swapped or passed on their names keep them", arguments: ["BAC", "BCA", "CAB", "BCX"])
  func namesThatMoved(wanted: String) throws {
    let folder = try TemporaryFolder()
    try run(folder.file("s")) { house in
      for (index, device) in house.devices.enumerated() { try await device.setName("new \(index)") }
      for (device, name) in zip(house.devices, wanted) { try await device.setName(String(name)) }
    }
    try run(folder.file("s")) { house in #expect(house.devices.map(\.name).joined() == wanted) }
  }

  @Test("changes are written a second later, not only at the end")
  func writes() throws {
    let folder = try TemporaryFolder()
    try run(folder.file("s")) { house in
      try house.setVolume(33)
      try await house.loop.sleep(for: .milliseconds(1_100))
      let text = String(decoding: try readBytes(folder.file("s/house.state")), as: UTF8.self)
      #expect(text.contains("volume 33\n"))
    }
  }

  @Test(
    "a damaged or hostile file is set aside with a line that reports it, and the house begins as configured",
    arguments: [
      "", "hello", "roomtone house 2\n", "roomtone house 1\nname X\n",
      "roomtone house 1\nspeaker A\nvolume 51\n",
      "roomtone house 1\nspeaker A\nvolume 99999999999999999999\n",
      "roomtone house 1\nspeaker A\nname \u{1b}[2J\n",
      "roomtone house 1\nspeaker A\nspeaker A\n", "roomtone house 1\nspeaker A\nrole loud\n",
      "roomtone house 1\nspeaker A\nmuted\n", "roomtone house 1\nspeaker A\nbalance -7\n", "\u{0}",
    ])
  func damaged(text: String) throws {
    let folder = try TemporaryFolder()
    _ = try folder.write(Array(text.utf8), to: "house.state")
    var lines: [String] = []
    try run(folder.file("."), log: { lines.append($0) }) { house in
      #expect(house.devices.map(\.name) == ["A", "B", "C"] && house.volume == 50)
    }
    #expect(lines.count == 1 && lines[0].contains("is damaged"))
    #expect(try readBytes(folder.file("house.state.damaged")) == Array(text.utf8))
  }

  @Test("bytes that are no text, and a file of two megabytes, are refused")
  func notText() {
    #expect(HouseState.parse([0xff, 0xfe]).state == nil)
    let long = Array("roomtone house 1\n".utf8) + [UInt8](repeating: 10, count: 2 << 20)
    #expect(HouseState.parse(long).state == nil)
  }

  @Test("the stored state of speakers outlives a run of a house without them")
  func otherHouse() throws {
    let folder = try TemporaryFolder()
    let (a, b) = (SpeakerSpec(name: "A"), SpeakerSpec(name: "B"))
    for (specs, volume) in [([a, b], 7), ([b], 8)] {
      try run(folder.file("s"), specs) { house in
        for device in house.devices { try device.setVolume(volume) }
      }
    }
    try run(folder.file("s"), [a, b]) { house in #expect(house.devices.map(\.volume) == [7, 8]) }
  }

  @Test("a state that has grown too long for a file keeps the speakers that are there")
  func tooLong() {
    var old = HouseState()
    for number in 0..<20_000 { old.speakers["\(number)"] = HouseState.Speaker() }
    let info = HouseSpeakers.demonstration
    #expect(HouseState(info, besides: old) == HouseState(info))
    old.speakers = old.speakers.filter { $0.key.count < 3 }
    #expect(HouseState(info, besides: old).speakers.count == 106)
  }

  @Test("a stored name that the configuration gives to another speaker by now is not used")
  func nameInUse() throws {
    let folder = try TemporaryFolder()
    try run(folder.file("s"), [SpeakerSpec(name: "A")]) { try await $0.devices[0].setName("B") }
    try run(folder.file("s"), [SpeakerSpec(name: "A"), SpeakerSpec(name: "B")]) { house in
      #expect(house.devices.map(\.name) == ["A", "B"])
    }
  }

  @Test(
    "a second driver waits, reports for which process, and is refused with that name; or gets the house when it is free"
  )
  func lock() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s")
    let other = StateFolder(path: path)
    #expect(try other.lock(as: "night\u{1b}watch") == nil)
    var lines: [String] = []
    let error = #expect(throws: SpeakerError.self) {
      try run(path, wait: .seconds(30), log: { lines.append($0) }) { _ in }
    }
    #expect(error?.code == "speaker.busy")
    let pid = String(decoding: try readBytes("/proc/self/stat"), as: UTF8.self).split(separator: " ")[0]
    #expect(error?.message == "nightwatch (process \(pid)) has the house")
    #expect(lines == ["nightwatch (process \(pid)) has the house: waiting for it"])
    try run(path + "2", isVirtual: false) { house in
      house.loop.after(.milliseconds(150)) { other.unlock() }
      let second = House(
        loop: house.loop,
        driver: HouseDriver(
          DriverContext(loop: house.loop, stateFolder: path, wait: .seconds(20)), output: .null))
      try await second.open(addAll: true)
      #expect(second.isOpen)
      await second.close()
    }
    // Closed, and free.
    #expect(try other.lock(as: "x") == nil)
  }

  @Test("a closed house no longer waits for the process that has its state")
  func closedWhileWaiting() throws {
    let folder = try TemporaryFolder()
    let other = StateFolder(path: folder.file("s"))
    #expect(try other.lock(as: "other") == nil)
    let error = #expect(throws: SpeakerError.self) {
      try run(folder.file("t")) { house in
        let second = House(
          loop: house.loop,
          driver: HouseDriver(
            DriverContext(loop: house.loop, stateFolder: folder.file("s"), wait: .seconds(1_000)),
            output: .null))
        house.loop.after(.seconds(5)) { house.loop.start { await second.close() } }
        do { try await second.open(addAll: true) } catch {
          #expect(house.loop.now < Instant.start.advanced(by: .seconds(7)))
          throw error
        }
      }
    }
    #expect(error?.code == "speaker.closed")
  }

  @Test("a read-only driver shows the stored house while another process has it, and changes nothing")
  func looks() throws {
    let folder = try TemporaryFolder()
    let state = folder.file("s")
    try run(state) { house in
      try await house.devices[0].setName("Hall")
      try house.devices[1].setVolume(7)
      try await house.loop.sleep(for: .milliseconds(10))
    }
    let kept = try readBytes(state + "/house.state")
    let owner = StateFolder(path: state)
    #expect(try owner.lock(as: "night watch") == nil)
    let lock = try readBytes(state + "/house.lock")
    // On the wall clock a house that plays would have threads and files by now.
    try run(state, output: .wav(folder: folder.file("out")), access: .look, isVirtual: false) { house in
      #expect(house.devices.map(\.name) == ["Hall", "B", "C"] && house.devices[1].volume == 7)
      try house.setVolume(40)
      try await house.devices[2].setName("Other")
      #expect(house.devices.map(\.volume) == [40, 40, 40])
    }
    #expect(try readBytes(state + "/house.state") == kept)
    #expect(try readBytes(state + "/house.lock") == lock)
    #expect(try Command.succeed("ls", [state]).text == "house.lock\nhouse.state\n")
    #expect(try Command.run("ls", [folder.file("out")]).status != 0)
    #expect(try HouseDriver.owner(ofStateFolder: state)?.name == "night watch")
  }

  @Test("a read-only driver makes no folder, and leaves a damaged file where it is")
  func looksAtNothing() throws {
    let folder = try TemporaryFolder()
    var lines: [String] = []
    try run(folder.file("none"), access: .look, log: { lines.append($0) }) { house in
      #expect(house.devices.map(\.name) == ["A", "B", "C"])
    }
    #expect(lines.isEmpty)
    #expect(try Command.run("ls", [folder.file("none")]).status != 0)
    _ = try folder.write(Array("hello".utf8), to: "house.state")
    try run(folder.path, access: .look, log: { lines.append($0) }) { _ in }
    #expect(lines.count == 1 && lines[0].contains("is damaged"))
    #expect(try Command.succeed("ls", [folder.path]).text == "house.state\n")
  }

  @Test("the owner of the house is reported without holding up the lock")
  func owner() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s")
    #expect(try HouseDriver.owner(ofStateFolder: path) == nil)
    let state = StateFolder(path: path)
    #expect(try state.lock(as: "first") == nil)
    let own = try #require(try HouseDriver.owner(ofStateFolder: path))
    #expect(own.name == "first" && own.description == "first (process \(own.processID ?? 0))")
    state.unlock()
    #expect(try HouseDriver.owner(ofStateFolder: path) == nil)

    // A thread queries the lock all the time; each attempt to acquire it still succeeds at once.
    let isDone = Atomic(false)
    let asker = try TestThread {
      while !isDone.load(ordering: .relaxed) { _ = try? HouseDriver.owner(ofStateFolder: path) }
    }
    var refusals = 0
    for _ in 0..<1_000 {
      if try state.lock(as: "again") != nil { refusals += 1 }
      state.unlock()
    }
    isDone.store(true, ordering: .relaxed)
    asker.join()
    #expect(refusals == 0)
  }

  @Test(
    "the content of a held lock is not trusted",
    arguments: [
      ("", "another process"), ("\u{1b}[2J", "another process"), ("-4 x", "another process"),
      ("7\n", "another program (process 7)"), ("99999999999 x", "another process"),
      ("8 a\u{7}b\nc", "ab (process 8)"),
    ])
  func strangeLock(text: String, reported: String) throws {
    let folder = try TemporaryFolder()
    let state = StateFolder(path: folder.path)
    #expect(try state.lock(as: "x") == nil)
    _ = try folder.write(Array(text.utf8), to: "house.lock")
    #expect(try HouseDriver.owner(ofStateFolder: folder.path)?.description == reported)
    #expect(try StateFolder(path: folder.path).lock(as: "y")?.description == reported)
  }
}
