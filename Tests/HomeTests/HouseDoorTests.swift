import AudioCore
import EventLoop
import Home
import SpeakerKit
import TestSupport
import TestTraits
import Testing

/// A driver without speakers whose opening takes a second.
private final class SlowDriver: Driver {
  let name = "slow"
  let capabilities: Set<String> = []
  let format = AudioFormat.session
  private let loop: EventLoop
  private let fails: Bool

  init(loop: EventLoop, fails: Bool) { (self.loop, self.fails) = (loop, fails) }

  func open(reports: any DriverReports) async throws -> [DeviceInfo] {
    try await loop.sleep(for: .seconds(1))
    if fails { throw SpeakerError(.lost, "it does not open") }
    return []
  }

  func close() async {}
  func change(_ changes: [(device: String, change: LevelChange)]) {}
  func setSession(_ session: DriverStream?, ofDevice device: String) {}
  func load(_ request: SourceRequest) async throws -> Cue { Cue(id: 0, duration: nil) }
  func discard(_ cue: Cue) {}
  func start(_ cue: Cue, in session: DriverStream, paused: Bool) {}
  func pause(_ session: DriverStream) {}
  func resume(_ session: DriverStream) {}
  func stop(_ session: DriverStream) {}
  func position(of session: DriverStream) -> Int { 0 }
}

@Suite("The door to the house", .waiting, .tags(.daemon, .drivers)) struct HouseDoorTests {
  /// A door, and what happened at it.
  private final class Harness {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    /// Houses that were built.
    private(set) var count = 0
    /// Houses that do not open, of those to come.
    var failures = 0
    /// Ends of openings, by name, in their order.
    private(set) var ends: [String] = []
    private(set) lazy var door = HouseDoor(loop: loop) { [unowned self] _, _ in
      count += 1
      failures -= 1
      return House(loop: loop, driver: SlowDriver(loop: loop, fails: failures >= 0))
    }

    static func run(_ body: @escaping (Harness) async throws -> Void) throws {
      let harness = Harness()
      try harness.loop.finish({ try await body(harness) }, last: { await harness.door.close() })
    }

    /// Opens in a task of its own.
    func open(_ name: String) {
      loop.start { [self] in
        do {
          try await door.open()
          ends.append("\(name) open")
        } catch { ends.append("\(name) \((error as? any CodedError)?.code ?? "\(error)")") }
      }
    }
  }

  @Test("concurrent callers of open get one house") func together() throws {
    try Harness.run { harness in
      harness.open("first")
      harness.open("second")
      #expect(harness.door.isOpening && harness.door.open == nil)
      try await harness.loop.sleep(for: .seconds(2))
      #expect(harness.ends == ["first open", "second open"] && harness.count == 1)
      #expect(!harness.door.isOpening && harness.door.open != nil)
    }
  }

  @Test("a caller that waits for a house that does not open gets the error; the next one tries again")
  func fails()
    throws
  {
    try Harness.run { harness in
      harness.failures = 1
      harness.open("first")
      harness.open("second")
      try await harness.loop.sleep(for: .seconds(2))
      #expect(harness.ends == ["first speaker.lost", "second speaker.lost"])
      try await harness.door.open()
      #expect(harness.count == 2 && !harness.door.wasClosed)
    }
  }

  @Test("closed while it opens: waiting callers get the error, and a new caller gets another house")
  func closed() throws {
    try Harness.run { harness in
      var closings = 0
      _ = harness.door.whenClosed { closings += 1 }
      harness.door.whenClosed { closings += 10 }()
      harness.open("first")
      try await harness.loop.sleep(for: .milliseconds(500))
      let closing = harness.loop.start { await harness.door.close() }
      harness.open("second")
      #expect(harness.door.isOpening && harness.door.wasClosed && closings == 1)
      await closing.value
      try await harness.loop.sleep(for: .seconds(3))
      #expect(harness.ends == ["first speaker.closed", "second open"] && harness.count == 2)
      #expect(harness.door.open != nil && !harness.door.wasClosed && closings == 1)
    }
  }
}
