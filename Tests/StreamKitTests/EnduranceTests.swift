import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

/// A stream that keeps running through faults of every kind. `ROOMTONE_FAULTS` sets their number; with it the
/// tests are meant to run alone, and the resources of the process are counted too.
@Suite("A stream that runs for ever", .waiting, .tags(.stream, .recording, .recovery)) struct EnduranceTests {
  private static let wanted = getenv("ROOMTONE_FAULTS").flatMap { Int(String(cString: $0)) }
  private static let faults = wanted ?? (Proof.isSanitized ? 40 : 120)

  /// The resources of the process.
  private struct Holdings {
    let descriptors: Int
    let threads: Int
    /// The resident memory in bytes.
    let memory: Int

    init() throws {
      descriptors = try Self.entries("/proc/self/fd") - 1
      threads = try Self.entries("/proc/self/task")
      let fields = String(decoding: try readBytes("/proc/self/statm"), as: UTF8.self).split(separator: " ")
      let pages = fields.dropFirst().first.flatMap { Int($0) } ?? 0
      memory = pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static func entries(_ path: String) throws -> Int {
      guard let folder = opendir(path) else { throw TestFailure("cannot read \(path)") }
      defer { closedir(folder) }
      var count = 0
      while let entry = readdir(folder) { count += entry.pointee.d_name.0 == 46 ? 0 : 1 }
      return count
    }
  }

  @Test("through faults of all kinds it plays on, and holds no more than before")
  func faults() throws {
    let station = try Station()
    station.answer("/live", with: try Self.answers())
    station.forgetHeaders()
    let network = try NetworkThread()
    defer { network.close() }
    let loop = EventLoop()
    var options = StreamOptions()
    options.bufferWait = .milliseconds(500)
    options.bufferBlocks = 60
    // The clock runs sixty times as fast: half a second stands for half a minute.
    options.clock = .faster(60)
    // The first sound has half a minute by the machine's clock to arrive, as without it there is no stream.
    options.dataTimeout = .seconds(1_800)
    let stream = try Playback.Stream(
      at: StreamAddress(station.url("/live")), options: options, loop: loop, network: { network })
    var (reconnections, failures) = (0, 0)
    stream.onEvent { event in
      if case .reconnected = event { reconnections += 1 }
      if case .failed = event { failures += 1 }
    }
    var (start, hundredth, end): (Holdings?, Holdings?, Holdings?)
    var (status, isPlaying) = (Playback.Stream.Status.stopped, false)
    try loop.finish(
      {
        try await stream.start()
        // A silence must be noticed from now on; one that is noticed too early costs an answer, no more.
        stream.options.dataTimeout = .seconds(Proof.isSanitized ? 60 : 20)
        start = try Holdings()
        var waited = 0
        while reconnections < Self.faults, waited < 30_000 {
          try await loop.sleep(for: .milliseconds(20))
          waited += 1
          if hundredth == nil, reconnections >= 100 { hundredth = try Holdings() }
        }
        // The last connection is permanent.
        try await loop.sleep(for: .seconds(2))
        end = try Holdings()
      },
      last: {
        (status, isPlaying) = (stream.status, stream.isPlaying)
        stream.stop()
      })
    #expect(
      reconnections >= Self.faults, "\(reconnections) of \(station.visits.count) connections gave sound")
    #expect(isPlaying && [.playing, .buffering, .connecting].contains(status), "\(status)")
    for _ in 0..<3_000 where station.openConnections > 2 { usleep(10_000) }
    #expect(station.openConnections <= 2)
    guard Self.wanted != nil, let start, let hundredth, let end else { return }
    print(
      "\(station.visits.count) connections, \(reconnections) joins, \(failures) failures told;",
      "descriptors \(start.descriptors) then \(end.descriptors), threads \(start.threads) then \(end.threads),",
      "memory \(start.memory), \(hundredth.memory) after a hundred, then \(end.memory) bytes")
    // One connection more may be open at one of the two moments.
    #expect(end.descriptors <= start.descriptors + 2 && end.threads <= start.threads + 2)
    #expect(end.memory - hundredth.memory <= 1 << 20)
  }

  /// Returns answers that end by some fault each, and among them answers without sound.
  private static func answers() throws -> [Answer] {
    var random = SeededRandom(seed: 2)
    let programmes = try [FrameProgramme.Kind.mp3, .aac, .mp3VBR].map { kind -> Live in
      let programme = try FrameProgramme(kind, seconds: 200, seed: 8)
      var live = Live(
        .init(repeating: programme.bytes, titles: [.init("One", at: 0), .init("Two", at: 400_000)]))
      live.pace = .realTime(1)
      return live
    }
    let advertisement = try FrameProgramme(.aac, seconds: 1.5, seed: 9).bytes
    let silent: [Answer] = [
      .page("<html><body>We are closed</body></html>"), .status("404 Not Found"),
      .status("503 Service Unavailable", retryAfter: "0"), .raw(random.bytes(3_000)),
      .raw("HTTP/1.0 200 OK\r\nContent-Ty"),
      .page(random.bytes(70_000), type: "audio/mpeg"), .status("500 Oops"), .raw([]),
      .live(programmes[0]).dropping(at: 1_000, by: .reset),
      .live(programmes[0]).dropping(at: 9_000, by: .finish),
    ]
    var answers: [Answer] = []
    for _ in 0..<(faults * 3 / 2) {
      // Changes of format are rare, as each takes seconds to confirm.
      let choice = Int.random(in: 0..<20, using: &random)
      var live = programmes[choice < 18 ? 0 : choice - 17]
      live.metaint = [nil, 8_192, 16_000, 333].randomElement(using: &random) ?? nil
      if Int.random(in: 0..<6, using: &random) == 0 {
        live.preRoll = Array(advertisement.prefix(Int.random(in: 1...20_000, using: &random)))
      }
      let titles = live.metaint.map { 68_000 / $0 + 200 } ?? 0
      let position = 65_600 + live.preRoll.count + titles + Int.random(in: 0...1_500, using: &random)
      let answer = Answer.live(live, type: choice % 3 == 0 ? "audio/aac" : "audio/mpeg")
      switch Int.random(in: 0..<10, using: &random) {
      case 0...3: answers.append(answer.dropping(at: position, by: .reset))
      case 4...5: answers.append(answer.dropping(at: position, by: .finish))
      case 6:
        let refusal = Duration.milliseconds(Int.random(in: 5...40, using: &random))
        answers.append(answer.dropping(at: position, by: .reset, refusing: refusal))
      case 7: answers.append(answer.stalling(at: position))
      case 8: answers.append(answer.claiming(position))
      default: answers.append(answer.claiming(1 << 40).dropping(at: position, by: .finish))
      }
      if Int.random(in: 0..<4, using: &random) == 0 {
        answers.append(silent.randomElement(using: &random) ?? silent[0])
      }
    }
    return answers + [.live(programmes[0])]
  }
}
