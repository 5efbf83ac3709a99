import EventLoop
import Glibc
import TestSupport
import Testing

@testable import StreamKit

/// Sends a programme to an Icecast as an encoder does: at the pace at which it is heard.
private final class Encoder: Sendable {
  private let isDone = Lock(false)
  private let thread: Lock<TestThread?>
  let sent = Lock(0)

  init(_ icecast: Icecast, _ mount: String, type: String, _ bytes: [UInt8], bytesPerSecond: Double) throws {
    let (isDone, sent) = (isDone, sent)
    // As much as a listener's burst is there at once.
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

/// In real time, and so half a minute each and at the mercy of a loaded machine: `ROOMTONE_REAL_TIME_RUNS` says how
/// many runs there are, none unless told.
@Suite("A stream of a real Icecast behind a line that is cut", .serialized)
struct IcecastStreamTests {
  private static let runs = getenv("ROOMTONE_REAL_TIME_RUNS").flatMap { Int(String(cString: $0)) } ?? 0

  @Test(
    "after each cut the frames received are exactly those that were sent", .enabled(if: runs > 0),
    arguments: 0..<max(1, runs), [Programme.Kind.mp3, .aac])
  func cuts(run: Int, kind: Programme.Kind) throws {
    let type = kind == .aac ? "audio/aac" : "audio/mpeg"
    let programme = try Programme(kind, seconds: 40, silence: [], seed: UInt64(run + 1))
    let rate = Double(programme.bytes.count) / 40
    let icecast = try Icecast()
    let proxy = try CuttingProxy(to: icecast.port)
    let encoder = try Encoder(icecast, "/live", type: type, programme.bytes, bytesPerSecond: rate)
    while encoder.sent.withLock({ $0 }) < 80_000 { usleep(20_000) }
    usleep(300_000)

    let receiver = try Receiver(url: "http://127.0.0.1:\(proxy.port)/live", blocks: 1200)
    #expect(receiver.wait(for: "format"))
    for (index, outage) in [0.0, 0.5, 2.0].enumerated() {
      usleep(2_500_000)
      proxy.cut()
      usleep(UInt32(outage * 1e6))
      proxy.mend()
      #expect(receiver.wait(for: "reconnected", count: index + 1), "\(receiver.events)")
    }
    usleep(1_000_000)
    let bytes = receiver.end()
    withExtendedLifetime((encoder, proxy)) {}
    #expect(receiver.events.filter { $0 == "reconnected stitched" }.count == 3, "\(receiver.events)")
    #expect(bytes.count > 150_000)
    let start = try #require(
      (0..<80_000).first { programme.bytes[$0...].starts(with: bytes.prefix(400)) })
    #expect(bytes.elementsEqual(programme.bytes[start...].prefix(bytes.count)))
  }
}
