import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("Waking the network thread", .waiting, .tags(.http))
struct WakeTests {
  private let station: Station
  private let network: NetworkThread

  init() throws { (station, network) = (try Station(), try NetworkThread()) }

  @Test("nothing does while nothing comes")
  func idle() throws {
    station.answer("/live", with: .live(Live(.noise(seed: 1))).stalling(at: 1_000))
    let thread = SleepingThread()
    let recording = Recording(onHead: thread.note)
    _ = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait { $0.body.count == 1_000 }
    // libcurl checks the connect timeout once more, soon after it.
    usleep(1_200_000)
    var fewest = Int.max
    // On a busy machine single actions may be late, so more than one half second is measured.
    for _ in 0..<6 where fewest > 1 {
      let before = try thread.sleeps
      usleep(500_000)
      fewest = min(fewest, try thread.sleeps - before)
    }
    #expect(fewest <= 1)
  }

  @Test("a recording's bytes do when there is a quarter of a second of them")
  func lowWater() throws {
    let live = Live(.noise(seed: 2))  // at 128 kbit/s: 4,000 bytes
    station.answer("/live", with: .live(live).inPieces(100, delay: .milliseconds(1)).dropping(at: 30_000))
    let recording = try network.get(station.url("/live")) { $0.wakeTime = .milliseconds(250) }
    let start = station.visits[0].start
    #expect(recording.body == live.programme.bytes(start..<start + 30_000))
    // Of 300 pieces.
    #expect(recording.chunks <= 30)
  }

  @Test("a player's bytes do however few they are")
  func player() throws {
    let answer = Answer.live(Live(.noise(seed: 2))).inPieces(1_000, 1, delay: .milliseconds(20))
    station.answer("/live", with: answer.stalling(at: 2_002))
    let recording = Recording()
    _ = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait("the last byte") { $0.body.count == 2_002 }
  }

  @Test("of a transfer that is read by the clock only the end does")
  func paced() throws {
    let live = Live(.noise(seed: 3))
    station.answer("/live", with: .live(live).inPieces(100, delay: .milliseconds(1)).dropping(at: 30_000))
    let recording = Recording()
    let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait { $0.body.count >= 100 }
    transfer.setPace(.seconds(600))
    let before = recording.chunks
    #expect(try recording.waitForEnd() == nil)
    let start = station.visits[0].start
    #expect(recording.body == live.programme.bytes(start..<start + 30_000))
    #expect(recording.chunks - before <= 30)
  }

  @Test("bytes are read by the clock however few or many they are", arguments: [2, 50_000])
  func round(bytes: Int) throws {
    let answer = Answer.live(Live(.noise(seed: 4))).inPieces(1_000, bytes, delay: .milliseconds(300))
    station.answer("/live", with: answer.stalling(at: 1_000 + bytes))
    let recording = Recording()
    let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait { $0.body.count >= 1_000 }
    transfer.setPace(.milliseconds(100))
    try recording.wait("the last byte") { $0.body.count == 1_000 + bytes }
  }

  @Test("bytes do as they come when a transfer is read by the clock no longer")
  func unpaced() throws {
    let answer = Answer.live(Live(.noise(seed: 5))).inPieces(1_000, 1, delay: .milliseconds(20))
    station.answer("/live", with: answer.stalling(at: 2_002))
    let recording = Recording()
    let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait { $0.body.count >= 1_000 }
    transfer.setPace(.seconds(600))
    transfer.setPace(nil)
    try recording.wait("the last byte") { $0.body.count == 2_002 }
  }

  @Test("transfers that are read by the clock share its wakes")
  func shared() throws {
    let answer = Answer.live(Live(.noise(seed: 6))).inPieces(160, delay: .milliseconds(10))
    station.answer("/live", with: answer)
    let thread = SleepingThread()
    let recordings = (0..<32).map { _ in Recording(onHead: thread.note) }
    for recording in recordings {
      let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
      try recording.wait { !$0.body.isEmpty }
      transfer.setPace(.milliseconds(500))
    }
    usleep(500_000)
    let start = ContinuousClock.now
    let (before, come) = (try thread.sleeps, recordings.map(\.body.count))
    usleep(1_000_000)
    try eventually("more has come to each") { zip(recordings, come).allSatisfy { $0.body.count > $1 } }
    // Rounds are 25 ms apart or more; bytes arrive up to 3,200 times a second.
    let sleeps = try thread.sleeps - before
    #expect(.milliseconds(10) * sleeps <= start.duration(to: .now), "\(sleeps)")
  }
}

/// The network thread in the system's statistics.
private final class SleepingThread: Sendable {
  private let path = Lock("")

  /// Records the calling thread; to be called with the head of a response.
  @Sendable func note(_ head: HTTPResponse) -> HTTPFlow {
    var path = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/thread-self", &path, path.count)
    let text = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    self.path.withLock { $0 = text }
    return .more
  }

  /// The number of times that the thread has gone to sleep.
  var sleeps: Int {
    get throws {
      let status = String(
        decoding: try readBytes("/proc/\(path.withLock { $0 })/status"), as: UTF8.self)
      let line = try #require(
        status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") })
      return try #require(Int(line.split(separator: "\t").last ?? ""))
    }
  }
}
