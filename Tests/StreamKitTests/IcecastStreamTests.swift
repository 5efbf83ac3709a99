import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

/// Sends a programme to an Icecast as an encoder does: at the pace of playback.
private final class Encoder: Sendable {
  private let isDone = Lock(false)
  private let thread: Lock<TestThread?>
  let sent = Lock(0)

  init(_ icecast: Icecast, _ mount: String, type: String, _ bytes: [UInt8], bytesPerSecond: Double) throws {
    let (isDone, sent) = (isDone, sent)
    // A listener's burst is there at once.
    thread = Lock(
      try TestThread {
        guard let source = try? icecast.source(mount, type: type) else { return }
        let clock = ContinuousClock()
        let start = clock.now
        var count = 0
        while !isDone.withLock({ $0 }) {
          let elapsed = (clock.now - start) / .seconds(1)
          let due = min(bytes.count, 80_000 + Int(elapsed * bytesPerSecond))
          if due > count {
            guard (try? source.send(Array(bytes[count..<due]))) != nil else { return }
            count = due
            let now = count
            sent.withLock { $0 = now }
          }
          usleep(50_000)
        }
      })
  }

  deinit {
    isDone.withLock { $0 = true }
    let thread = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    thread?.join()
  }
}

/// Listeners in real time, which takes half a minute and depends on the load of the machine:
/// `ROOMTONE_REAL_TIME_RUNS` sets the number of listeners for each codec, none by default. Each is behind a
/// line of its own, which is cut at random moments.
@Suite(
  "Streams of a real Icecast behind lines that are cut", .waiting, .serialized,
  .tags(.stream, .reconnection, .stitching))
struct IcecastStreamTests {
  private static let runs = getenv("ROOMTONE_REAL_TIME_RUNS").flatMap { Int(String(cString: $0)) } ?? 0
  private static let outages = [0, 0.5, 2, 3]

  @Test("after each cut the frames received are exactly those that were sent", .enabled(if: runs > 0))
  func exact() throws {
    let icecast = try Icecast()
    let programmes = try FrameProgramme.Kind.promised.map { try FrameProgramme($0, seconds: 90) }
    let encoders = try zip(FrameProgramme.Kind.promised, programmes).map { kind, programme in
      let encoder = try Encoder(
        icecast, "/\(kind)", type: kind == .mp3 ? "audio/mpeg" : "audio/aac", programme.bytes,
        bytesPerSecond: Double(programme.bytes.count) / programme.seconds)
      while encoder.sent.withLock({ $0 }) < 80_000 { usleep(20_000) }
      return encoder
    }
    usleep(300_000)
    let faults = Lock<[String]>([])
    var threads: [TestThread] = []
    for run in 0..<Self.runs {
      for (kind, programme) in zip(FrameProgramme.Kind.promised, programmes) {
        threads.append(
          try TestThread {
            let fault: String?
            do {
              fault = try Self.listen(to: "/\(kind)", of: icecast, programme, seed: run)
            } catch { fault = "\(error)" }
            if let fault { faults.withLock { $0.append("\(kind), run \(run): \(fault)") } }
          })
      }
    }
    for thread in threads { thread.join() }
    withExtendedLifetime((encoders, icecast)) {}
    #expect(faults.withLock { $0 } == [])
  }

  /// Listens through all outages, in a random order and at random moments.
  /// - Returns: the fault; nil for none.
  private static func listen(
    to mount: String, of icecast: Icecast, _ programme: FrameProgramme, seed: Int
  ) throws -> String? {
    var random = SeededRandom(seed: UInt64(seed))
    let proxy = try CuttingProxy(to: icecast.port)
    usleep(UInt32.random(in: 0...1_500_000, using: &random))
    let receiver = try Receiver(url: "http://127.0.0.1:\(proxy.port)\(mount)", blocks: 1200)
    guard receiver.wait(for: "format") else { return "nothing came: \(receiver.events)" }
    for (index, outage) in outages.shuffled(using: &random).enumerated() {
      usleep(UInt32.random(in: 1_500_000...3_000_000, using: &random))
      proxy.cut()
      usleep(UInt32(outage * 1e6))
      proxy.mend()
      guard receiver.wait(for: "reconnected", count: index + 1) else {
        return "did not come back: \(receiver.events)"
      }
    }
    usleep(1_000_000)
    let bytes = receiver.end()
    let joins = receiver.events.filter { $0.hasPrefix("reconnected") }
    if joins != [String](repeating: "reconnected stitched", count: outages.count) { return "\(joins)" }
    guard let start = (0..<600_000).first(where: { programme.bytes[$0...].starts(with: bytes.prefix(400)) })
    else { return "it begins with what was not sent" }
    // The burst and the sound between the cuts are the least.
    if bytes.count < 65_535 + programme.bytes.count * 9 / 90 { return "only \(bytes.count) bytes" }
    return bytes.elementsEqual(programme.bytes[start...].prefix(bytes.count)) ? nil : "something else came"
  }
}
