internal import EventLoop
internal import Glibc
internal import TestSupport

/// Radio from a real icecast2: one stream that plays beside `mpg123`, and two hundred that are received
/// beside `curl`, each as whole processes over the same seconds.
enum StreamBench {
  private static let streams = 200
  private static let peers = 20
  /// Seconds until the burst has ended and all play.
  private static let warmUp = 15.0
  private static let seconds = 20.0

  static func run() throws -> [Figure] {
    let icecast = try Icecast()
    let file = try Fixture.path("Tests/Fixtures/mp3-cbr128-44k.mp3")
    let slow = try LiveSource(try Fixture.bytes(at: file), to: icecast, mount: "/44k")
    let fast = try LiveSource(try at48kHz(file), to: icecast, mount: "/48k")
    defer {
      slow.end()
      fast.end()
    }
    sleep(5)
    return try [
      playing(icecast.url("/44k"), "44.1 to 48 kHz"), playing(icecast.url("/48k"), "48 kHz"),
      receiving(icecast.url("/44k")),
    ]
  }

  /// Returns the sound of a file at 48 kHz and 128 kbit/s.
  private static func at48kHz(_ path: String) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let words = ["-v", "error", "-i", path, "-ar", "48000", "-b:a", "128k", folder.file("48k.mp3")]
    let outcome = try Command.run("ffmpeg", words)
    guard outcome.status == 0 else {
      throw StartBench.Failed(message: "ffmpeg: \(String(decoding: outcome.errors, as: UTF8.self))")
    }
    return try Fixture.bytes(at: folder.file("48k.mp3"))
  }

  private static func playing(_ url: String, _ rate: String) throws -> Figure {
    let script = """
      local speaker = require "speaker"
      speaker.open { add_all = false }
      speaker.device "Kitchen":join()
      speaker.play_stream "\(url)"
      """
    let peer = MeasuredProcesses("mpg123")
    // Without a card it reads the sound as fast as it arrives.
    try peer.start(["-q", "-o", "dummy", url])
    let cost = try measure(script, beside: peer)
    return Figure(
      name: "playing a stream, 128 kbit/s, \(rate)", value: cost.ours * 1000, unit: "ms CPU/s",
      against: "mpg123, which resamples nothing: \(Bench.rounded(cost.peer * 1000)) ms CPU/s",
      goal: "<= 1.5 x", isReached: cost.ours <= 1.5 * cost.peer)
  }

  private static func receiving(_ url: String) throws -> Figure {
    let script = """
      local stream, task = require "stream", require "task"
      for _ = 1, \(streams) do
        task.spawn(function() stream.new("\(url)"):start() end)
      end
      """
    let peer = MeasuredProcesses("curl")
    for _ in 0..<peers { try peer.start(["-s", "-o", "/dev/null", url]) }
    let cost = try measure(script, beside: peer)
    let (ours, curl) = (cost.ours / Double(streams), cost.peer / Double(peers))
    return Figure(
      name: "receiving \(streams) streams, each", value: ours * 1e6, unit: "us CPU/s",
      against: "curl: \(Bench.rounded(curl * 1e6)) us CPU/s", goal: "<= 0.25 x",
      isReached: ours <= 0.25 * curl)
  }

  /// Returns processor seconds per second: of `roomtone run` with the script, and of its peers, at the same
  /// time.
  private static func measure(
    _ script: String, beside peer: MeasuredProcesses
  ) throws -> (ours: Double, peer: Double) {
    let folder = try TemporaryFolder()
    let ours = MeasuredProcesses("\(StartBench.executableFolder())/roomtone")
    try ours.start(["run", "--output", "null", try folder.write(Array(script.utf8), to: "script.lua")])
    usleep(UInt32(warmUp * 1e6))
    let (start, before) = (Bench.now(), (ours: try ours.workTime(), peer: try peer.workTime()))
    usleep(UInt32(seconds * 1e6))
    let (time, after) = (Bench.now() - start, (ours: try ours.workTime(), peer: try peer.workTime()))
    return ((after.ours - before.ours) / time, (after.peer - before.peer) / time)
  }
}

/// Sends the same file repeatedly, in frame-sized pieces in real time, as an encoder does.
private final class LiveSource {
  private static let bytesPerSecond = 16_000
  private static let piece = 418
  private let thread: TestThread
  private let isOver = Lock(false)

  init(_ bytes: [UInt8], to icecast: Icecast, mount: String) throws {
    let isOver = isOver
    thread = try TestThread {
      guard let source = try? icecast.source(mount) else { return }
      let start = Bench.now()
      var sent = 0
      while !isOver.withLock({ $0 }) {
        let due = Int((Bench.now() - start) * Double(Self.bytesPerSecond)) + 65_535
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
