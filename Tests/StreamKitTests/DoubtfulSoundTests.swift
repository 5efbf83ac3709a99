import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

/// The last sound of a connection that ends badly: junk behind a frame that was cut, and sound that came late.
@Suite("The end of a connection", .waiting, .tags(.stream, .reconnection, .stitching))
struct DoubtfulSoundTests {
  private static let head = Array(
    "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-name: Test\r\nicy-br: 128\r\n\r\n".utf8)

  private func programme(_ kind: FrameProgramme.Kind = .mp3) throws -> FrameProgramme {
    try FrameProgramme(kind, seconds: 40, seed: 21)
  }

  /// Bytes that are neither frame nor tag.
  private func junk(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 * 37 % 200) } }

  @Test(
    "with junk behind a frame that was cut is joined exactly by the next connection: nothing comes twice, and no gap is told",
    arguments: [FrameProgramme.Kind.mp3, .aac], [0, 100, 200, 1_000, 20_000])
  func junkAtEnd(kind: FrameProgramme.Kind, count: Int) throws {
    let programme = try programme(kind)
    let station = try Station()
    let cut = programme.frames[300].offset + 120
    let burst = programme.frames[180].offset + 33
    let end = programme.frames[700].offset
    station.answer(
      "/live", with: .raw(Self.head + programme.bytes[..<cut] + junk(count)),
      .raw(Self.head + programme.bytes[burst..<end]))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "reconnected"), "\(receiver.events)")
    #expect(
      receiver.events.first { $0.hasPrefix("reconnected") } == "reconnected stitched" && receiver.gaps.isEmpty
    )
    for _ in 0..<600 where receiver.buffer.range.end.seconds < programme.ends[690] { usleep(100_000) }
    let frames = receiver.allFrames()
    #expect(frames.count >= 690)
    let sent = programme.frames.prefix(frames.count).map { Array(programme.bytes[$0.range]) }
    #expect(frames == sent)
  }

  @Test(
    "junk in the midst of sound costs the frame that it hit, and no frame with junk in it is played or recorded",
    arguments: [FrameProgramme.Kind.mp3, .aac], [3, 250, 5_000])
  func junkInMidst(kind: FrameProgramme.Kind, count: Int) throws {
    let programme = try programme(kind)
    let hit = programme.frames[200].offset + 130
    let bytes = Array(programme.bytes[..<hit]) + junk(count) + programme.bytes[hit...]
    var (framer, found) = (StreamFramer(dropsDoubtful: true), [[UInt8]]())
    for start in stride(from: 0, to: bytes.count, by: 1_000) {
      bytes[start..<min(bytes.count, start + 1_000)].withUnsafeBytes { framer.feed($0) }
      while let item = framer.next() {
        if case .frame(let frame) = item { found.append(framer.withBytes(of: frame) { [UInt8]($0) } ?? []) }
      }
    }
    framer.end()
    while let item = framer.next() {
      if case .frame(let frame) = item { found.append(framer.withBytes(of: frame) { [UInt8]($0) } ?? []) }
    }
    let sent = programme.frames.map { Array(programme.bytes[$0.range]) }
    #expect(found == Array(sent[..<200]) + sent[201...])
  }

  @Test(
    "that lagged before it was lost counts with the sound that was due: the gap is told to a tenth of a second"
  )
  func lag() throws {
    let programme = try programme()
    let station = try Station()
    let (time, edge) = (Lock(20.0), Lock(320_000))
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))
    (live.burst, live.pace) = (0, .controlled { edge.withLock { $0 } })
    // Ten seconds of sound.
    let length = 160_000
    station.answer("/live", with: .live(live).dropping(at: length, by: .reset), .live(live))
    let network = try NetworkThread()
    defer { network.close() }
    let receiver = try Receiver(
      url: station.url("/live"), blocks: 600, network: network,
      clock: .moved { Instant(nanoseconds: Int64(time.withLock { $0 } * 1e9)) })
    func audio() -> Int { Receiver.states(of: [receiver], on: network)[0].audio }
    func wait(_ what: String, _ isDone: () -> Bool) throws {
      for _ in 0..<60_000 {
        if isDone() { return }
        usleep(1_000)
      }
      throw TestFailure("\(what) in vain: \(receiver.events), \(audio()) bytes")
    }
    func pass(_ seconds: Double) {
      time.withLock { $0 += seconds }
      receiver.clockMoved()
    }
    try wait("connected") { receiver.events.contains("connecting") && station.visits.count == 1 }
    let start = try #require(station.visits.first).start
    for step in 1...38 {
      time.withLock { $0 += 0.25 }
      edge.withLock { $0 = start + step * 4_000 }
      receiver.clockMoved()
      try wait("read") { audio() >= step * 4_000 - 1_400 }
    }
    // The last half second comes so much too late; the sound that was made meanwhile stays at the server.
    pass(0.5 + 0.55)
    edge.withLock { $0 = start + length + 8_800 }
    try wait("joined again") { station.visits.count == 2 }
    let second = try #require(station.visits.last).start
    for _ in 0..<40 where receiver.gaps.isEmpty {
      pass(0.25)
      edge.withLock { $0 += 4_000 }
      usleep(50_000)
    }
    _ = receiver.end()
    let missing = Double(second - start - length) / 16_000
    #expect(missing > 0.5)
    #expect(
      receiver.gaps.count == 1 && ((receiver.gaps.first ?? 0) - missing).magnitude < 0.1,
      "told \(receiver.gaps) of \(missing)")
  }
}
