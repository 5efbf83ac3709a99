internal import EventLoop
internal import Glibc
internal import TestSupport

/// Radio from a real icecast2: one stream that plays beside `mpg123`, and two hundred that are received beside `curl`,
/// each as whole processes over the same seconds.
enum StreamBench {
  private static let streams = 200
  private static let peers = 20
  /// Until the burst is through and all play.
  private static let warmUp = 15.0
  private static let seconds = 20.0

  static func run() throws -> [Figure] {
    let bytes = try Fixture.bytes("Tests/Fixtures/mp3-cbr128-44k.mp3")
    let icecast = try Icecast()
    let encoder = try LiveSource(bytes, bytesPerSecond: 16_000, to: icecast)
    defer { encoder.end() }
    sleep(5)
    return try playing(icecast.url(LiveSource.mount)) + receiving(icecast.url(LiveSource.mount))
  }

  private static func playing(_ url: String) throws -> [Figure] {
    let (ours, peer) = (MeasuredProcesses(roomtone), MeasuredProcesses("mpg123"))
    let script = """
      local speaker = require "speaker"
      speaker.open { add_all = false }
      speaker.device "Kitchen":join()
      speaker.play_stream "\(url)"
      """
    let folder = try TemporaryFolder()
    try ours.start(["run", "--output", "null", try folder.write(Array(script.utf8), to: "play.lua")])
    // Without a card it would take the sound as fast as it can be had, which is as fast as it comes.
    try peer.start(["-q", "-o", "dummy", url])
    let cost = try measure(ours, peer)
    let ratio = cost.ours / cost.peer
    return [
      Figure(
        name: "playing a stream, 128 kbit/s", value: cost.ours * 1000, unit: "ms CPU/s",
        against: "mpg123: \(Bench.rounded(cost.peer * 1000)) ms CPU/s", goal: "<= 1.5 x",
        isReached: ratio <= 1.5)
    ]
  }

  private static func receiving(_ url: String) throws -> [Figure] {
    let (ours, peer) = (MeasuredProcesses(roomtone), MeasuredProcesses("curl"))
    let script = """
      local stream, task = require "stream", require "task"
      for _ = 1, \(streams) do
        task.spawn(function() stream.new("\(url)"):start() end)
      end
      """
    let folder = try TemporaryFolder()
    try ours.start(["run", "--output", "null", try folder.write(Array(script.utf8), to: "receive.lua")])
    for _ in 0..<peers { try peer.start(["-s", "-o", "/dev/null", url]) }
    let cost = try measure(ours, peer)
    let each = cost.peer / Double(peers)
    let ratio = cost.ours / (each * Double(streams))
    return [
      Figure(
        name: "receiving \(streams) streams, each", value: cost.ours / Double(streams) * 1e6,
        unit: "us CPU/s",
        against: "curl: \(Bench.rounded(each * 1e6)) us CPU/s", goal: "<= 0.25 x", isReached: ratio <= 0.25)
    ]
  }

  private static var roomtone: String { "\(StartBench.executableFolder())/roomtone" }

  /// Seconds of work in a second, of both at the same time.
  private static func measure(
    _ ours: MeasuredProcesses, _ peer: MeasuredProcesses
  ) throws -> (ours: Double, peer: Double) {
    usleep(UInt32(warmUp * 1e6))
    let (start, before) = (Bench.now(), (ours: try ours.workTime(), peer: try peer.workTime()))
    usleep(UInt32(seconds * 1e6))
    let (time, after) = (Bench.now() - start, (ours: try ours.workTime(), peer: try peer.workTime()))
    return ((after.ours - before.ours) / time, (after.peer - before.peer) / time)
  }
}

/// Sends the same file over and over, frame-sized pieces at the pace of hearing, as an encoder does.
private final class LiveSource {
  static let mount = "/live"
  private static let piece = 418
  private let thread: TestThread
  private let isOver = Lock(false)

  init(_ bytes: [UInt8], bytesPerSecond: Int, to icecast: Icecast) throws {
    let isOver = isOver
    thread = try TestThread {
      guard let source = try? icecast.source(Self.mount) else { return }
      let start = Bench.now()
      var sent = 0
      while !isOver.withLock({ $0 }) {
        let due = Int((Bench.now() - start) * Double(bytesPerSecond)) + 65_535
        while sent < due {
          let first = sent % bytes.count
          let piece = Array(bytes[first..<min(bytes.count, first + Self.piece)])
          guard (try? source.send(piece)) != nil else { return }
          sent += piece.count
        }
        usleep(26_000)
      }
    }
  }

  func end() {
    isOver.withLock { $0 = true }
    thread.join()
  }
}
