import AudioCore
import Codecs
import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

/// A stream of a test on a loop of its own, in real time. Used on the thread that calls `run`.
private final class StreamHarness {
  let loop = EventLoop()
  let station: Station
  let stream: Playback.Stream
  private(set) var reported: [String] = []

  private init(_ station: Station, _ network: NetworkThread, _ options: StreamOptions) throws {
    self.station = station
    stream = try Playback.Stream(
      at: StreamAddress(station.url("/live")), options: options, loop: loop, network: { network })
    stream.onEvent { [unowned self] event in reported.append(words(for: event)) }
  }

  static func run(
    _ station: Station, bufferWait: Duration? = .milliseconds(500), blocks: Int = 1200,
    pauseTimeout: Duration = .seconds(300), _ body: @escaping (StreamHarness) async throws -> Void
  ) throws {
    let network = try NetworkThread()
    defer { network.close() }
    var options = StreamOptions()
    options.bufferWait = bufferWait
    options.bufferBlocks = blocks
    options.pauseTimeout = pauseTimeout
    let harness = try StreamHarness(station, network, options)
    try harness.loop.finish({ try await body(harness) }, last: { harness.stream.stop() })
  }

  /// Waits until it is so, a minute at most.
  func wait(until condition: () -> Bool) async throws {
    for _ in 0..<6_000 {
      if condition() { return }
      try await loop.sleep(for: .milliseconds(10))
    }
    throw TestFailure("it did not come: \(reported), \(stream.status)")
  }

  private func words(for event: StreamEvent) -> String {
    switch event {
    case .metadata(let title, let isRealtime): "\(isRealtime ? "came" : "heard"): \(title.text)"
    case .failed, .queueExhausted: event.word
    case .reconnected(_, let stitched, _): "reconnected \(stitched)"
    default: "\(event.word) (\(stream.status.rawValue))"
    }
  }
}

@Suite("A stream that plays", .waiting, .tags(.stream, .playback, .timeShift))
struct StreamTests {
  private static let programme = Result { try FrameProgramme(.mp3, seconds: 60, silence: []).bytes }

  /// A station at the pace of hearing.
  private func live(titles: [Programme.Title] = [], pace: Live.Pace = .realTime(1)) throws -> Live {
    let bytes = try Self.programme.get()
    var live = Live(.init(repeating: bytes, bytesPerSecond: 16_000, titles: titles))
    live.pace = pace
    live.metaint = 8_192
    return live
  }

  @Test("it connects, fills and plays, and the state is the new one when its event comes")
  func starts() throws {
    let station = try Station()
    station.answer("/live", with: .live(try live()))
    try StreamHarness.run(station, bufferWait: .seconds(3)) { harness in
      let stream = harness.stream
      #expect(stream.status == .stopped && !stream.isPlaying)
      try await stream.start()
      #expect(harness.reported == ["connecting (connecting)", "buffering (buffering)", "started (playing)"])
      #expect(stream.isPlaying && stream.station.name == "Test station" && stream.station.bitRate == 128)
      #expect(stream.format?.codec == .mp3)
      func look() -> (earliest: Instant, position: StreamTime, latest: Instant) {
        (harness.loop.now, stream.position, harness.loop.now)
      }
      let first = look()
      try await harness.loop.sleep(for: .milliseconds(300))
      let second = look()
      let moved = (second.position - first.position).seconds
      #expect(moved > Double(first.latest.duration(to: second.earliest).nanoseconds) / 1e9 - 0.25)
      #expect(moved < Double(first.earliest.duration(to: second.latest).nanoseconds) / 1e9 + 0.25)
      stream.stop()
      #expect(harness.reported.last == "stopped (stopped)" && !stream.isPlaying)
    }
  }

  @Test("paused it does not advance and keeps what it receives; it can be moved there, and resume")
  func pauses() throws {
    let station = try Station()
    station.answer("/live", with: .live(try live()))
    try StreamHarness.run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      stream.pause()
      #expect(harness.reported.last == "paused (paused)" && stream.isPlaying)
      let position = stream.position
      try await harness.loop.sleep(for: .milliseconds(500))
      #expect(stream.position == position)
      try await harness.wait { stream.figures.timeShift > 3.5 }
      let shift = stream.figures.timeShift
      #expect(stream.canMove(by: 2) && !stream.canMove(by: 60) && !stream.canMove(by: -60))
      let forward = try stream.move(by: 2)
      #expect(abs(forward - 2) < 0.03 && abs(stream.figures.timeShift - shift + 2) < 1.5)
      let back = try stream.move(by: -1000)
      #expect(back < -1.9 && stream.status == .paused)
      try await stream.start()
      #expect(harness.reported.last == "started (playing)")
    }
  }

  @Test("paused for too long it stops")
  func pauseTimeout() throws {
    let station = try Station()
    station.answer("/live", with: .live(try live()))
    try StreamHarness.run(station, pauseTimeout: .milliseconds(200)) { harness in
      try await harness.stream.start()
      harness.stream.pause()
      try await harness.wait { harness.stream.status == .stopped }
      #expect(harness.reported.last == "stopped (stopped)")
    }
  }

  @Test("a title is reported when received, and when heard; moved back, the one before is heard again")
  func titles() throws {
    let station = try Station()
    // The station has 200,000 bytes when it opens; its bytes from 190,000 on are heard 3 s after the start.
    station.answer(
      "/live",
      with: .live(try live(titles: [.init("A - One", at: 0), .init("B - Two", at: 160_000)])))
    try StreamHarness.run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      try await harness.wait { harness.reported.contains("heard: B - Two") }
      #expect(stream.title?.artist == "B" && stream.title?.withoutArtist == "Two")
      for way in ["came", "heard"] {
        #expect(harness.reported.filter { $0.hasPrefix(way) } == ["\(way): A - One", "\(way): B - Two"])
      }
      let moved = try stream.move(by: -10)
      #expect(moved < -0.5)
      #expect(harness.reported.last == "heard: A - One" && stream.title?.text == "A - One")
    }
  }

  @Test("a title that was received before a session listens is reported when that session plays its sound")
  func titleBeforeSession() throws {
    let station = try Station()
    station.answer(
      "/live",
      with: .live(try live(titles: [.init("A - One", at: 0), .init("B - Two", at: 160_000)])))
    try StreamHarness.run(station) { harness in
      let stream = harness.stream
      try await stream.start()
      try await harness.wait { harness.reported.contains("came: B - Two") }
      try #require(!harness.reported.contains("heard: B - Two"))
      let began = harness.loop.now
      let playback = try stream.attach(
        heard: { began.duration(to: harness.loop.now).inSeconds }, moved: {})
      let block = PCMBlock(format: .session, frames: 1000)
      #expect(try playback.makeLiveDecoder().read(into: block.view.buffer) > 0)
      try await harness.wait { harness.reported.contains("heard: B - Two") }
      #expect(stream.title?.withoutArtist == "Two")
    }
  }

  @Test(
    "over a drop it plays on from the buffer, reports the join, and emits started when it is received again")
  func drops() throws {
    let station = try Station()
    let live = try live()
    station.answer("/live", with: .live(live).dropping(at: 80_000, by: .reset), .live(live))
    try StreamHarness.run(station, bufferWait: .seconds(3)) { harness in
      let stream = harness.stream
      try await stream.start()
      try await harness.wait { harness.reported.contains("reconnected true") }
      let tail = Array(harness.reported.drop { $0 != "failed stream.network" })
      #expect(tail.prefix(3) == ["failed stream.network", "connecting (connecting)", "reconnected true"])
      try await harness.wait { harness.reported.last == "started (playing)" }
      #expect(!harness.reported.contains("queue exhausted"))
    }
  }

  @Test("when the buffer runs dry that is reported, then buffering, and started when enough has come again")
  func runsDry() throws {
    let station = try Station()
    var live = try live()
    live.burst = 16_000
    station.answer("/live", with: .live(live).stalling(at: 20_000, for: .seconds(3)))
    try StreamHarness.run(station) { harness in
      try await harness.stream.start()
      try await harness.wait { harness.reported.contains("queue exhausted") }
      let tail = harness.reported.drop { $0 != "queue exhausted" }
      #expect(tail.prefix(2) == ["queue exhausted", "buffering (buffering)"])
      try await harness.wait { harness.reported.last == "started (playing)" }
    }
  }

  @Test("with a burst it plays from the burst") func startsBehindBurst() throws {
    let station = try Station()
    var live = try live()
    live.burst = 40_000
    station.answer("/live", with: .live(live).stalling(at: 40_000))
    try StreamHarness.run(station, bufferWait: nil) { harness in
      try await harness.stream.start()
      #expect(harness.stream.status == .playing)
    }
  }

  @Test("without a burst it plays after 0.7 s of sound") func startsWithoutBurst() throws {
    let station = try Station()
    var live = try live()
    live.burst = 0
    station.answer("/live", with: .live(live))
    try StreamHarness.run(station, bufferWait: nil) { harness in
      try await harness.stream.start()
      #expect((0.6...3).contains(harness.stream.figures.buffered))
      #expect(harness.stream.buffer?.wanted == StreamTime(seconds: 0.7))
    }
  }

  @Test("a player that has read ahead is not dry before that is heard") func readsAhead() throws {
    let station = try Station()
    var live = try live()
    live.burst = 40_000
    live.programme = .init(
      repeating: try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), bytesPerSecond: 16_000)
    live.age = 40_000
    // Enough to play, also where the burst comes slowly. The second connection brings nothing, so that no sound comes
    // from it while this one is read.
    station.answer(
      "/live", with: .live(live).stalling(at: 40_000), .live(live).withSlowHead(.seconds(120)))
    try StreamHarness.run(station, bufferWait: nil) { harness in
      let stream = harness.stream
      try await stream.start()
      var heard = 0.0
      let playback = try stream.attach(heard: { heard }, moved: { heard = 0 })
      stream.run()
      let decoder = playback.makeLiveDecoder()
      let block = PCMBlock(format: .session, frames: 1000)
      func decodeAll() throws { while try decoder.read(into: block.view.buffer) > 0 {} }
      try decodeAll()
      heard = 0.2
      try await harness.loop.sleep(for: .milliseconds(1))
      #expect(stream.status == .playing && !harness.reported.contains("queue exhausted"))
      #expect(stream.buffer?.isFilling == false)
      heard = 60
      try await harness.wait {
        // The rest of the burst may have come since.
        _ = try? decodeAll()
        return harness.reported.contains("queue exhausted")
      }
      #expect(stream.status == .buffering && stream.buffer?.isFilling == true)
      stream.detach()
    }
  }

  @Test("a first connection that fails is thrown by start, and the stream is stopped")
  func fails() throws {
    let station = try Station()
    station.answer("/live", with: .status("404 Not Found"))
    try StreamHarness.run(station) { harness in
      do {
        try await harness.stream.start()
        Issue.record("it started")
      } catch let error as StreamError { #expect(error.kind == .notFound && error.status == 404) }
      #expect(harness.stream.status == .stopped)
      #expect(
        harness.reported == ["connecting (connecting)", "failed stream.not_found", "stopped (stopped)"])
    }
  }

  @Test("stop while it connects ends the waiting start")
  func stopsEarly() throws {
    let station = try Station()
    station.answer("/live", with: .live(try live()).withSlowHead(.seconds(1)))
    try StreamHarness.run(station) { harness in
      harness.loop.after(.milliseconds(100)) { harness.stream.stop() }
      await #expect(throws: CancellationError.self) { try await harness.stream.start() }
    }
  }

  @Test("resumed at the moment in which its buffer gets full, it is received again")
  func fullWhileGoingOn() throws {
    let station = try Station()
    station.answer("/live", with: .live(try live(pace: .asRead)))
    try StreamHarness.run(station, blocks: 20) { harness in
      let stream = harness.stream
      try await stream.start()
      stream.pause()
      // The loop is blocked meanwhile: it learns that the buffer is full after it resumes.
      usleep(1_000_000)
      let end = stream.buffer?.range.end ?? .zero
      stream.resumeIfPaused()
      try await harness.wait { (stream.buffer?.range.end ?? .zero) > end + StreamTime(seconds: 1) }
    }
  }

  @Test(
    "the sound kept over a pause that filled the buffer is heard to its end, whatever the next burst has")
  func keepsOverFullPause() throws {
    let station = try Station()
    // The programme moves on at the pace of hearing, and jumps on demand.
    let (begin, leap) = (Lock<Instant?>(nil), Lock(0))
    let clock = EventLoop()
    var live = try live()
    live.pace = .controlled {
      let elapsed = begin.withLock { begin in
        if begin == nil { begin = clock.now }
        return (begin ?? clock.now).duration(to: clock.now)
      }
      return 200_000 + leap.withLock { $0 } + Int(elapsed.nanoseconds / 62_500)
    }
    station.answer("/live", with: .live(live))
    try StreamHarness.run(station, blocks: 60) { harness in
      let stream = harness.stream
      try await stream.start()
      stream.pause()
      leap.withLock { $0 = 600_000 }
      try await harness.wait { stream.machine.reception == .full }
      let kept = try #require(stream.buffer?.range)
      let position = stream.position
      #expect((kept.end - position).seconds > 10)
      stream.resumeIfPaused()
      try await harness.wait { harness.reported.contains("reconnected false") }
      try await harness.loop.sleep(for: .seconds(1))
      let range = try #require(stream.buffer?.range)
      #expect(range.start <= stream.position, "\(range.start.seconds) \(stream.position.seconds)")
      #expect(range.end > kept.end)
    }
  }

  @Test("no error contains the password of an address")
  func secret() throws {
    let network = try NetworkThread()
    defer { network.close() }
    let loop = EventLoop()
    let stream = Playback.Stream(
      at: "http://me:secret@127.0.0.1:1/live", loop: loop, network: { network })
    var failure: (any Error)?
    try loop.finish { do { try await stream.start() } catch { failure = error } }
    let error = try #require(failure as? StreamError)
    #expect(error.kind == .network && error.url == "http://127.0.0.1:1/live")
    #expect(!"\(error)".contains("secret"))
  }

  @Test("the password is for the server of the address, not for others that a list leads to")
  func passwordOfAnother() throws {
    let (station, elsewhere) = (try Station(), try Station())
    let url = elsewhere.url("/real").replacing("127.0.0.1", with: "localhost")
    station.answer("/live", with: .page("\(url)\n", type: "audio/x-mpegurl"))
    elsewhere.answer("/real", with: .live(try live()))
    try StreamHarness.run(station) { harness in
      harness.stream.options.credentials = HTTPCredentials(user: "me", password: "secret")
      try await harness.stream.start()
    }
    #expect(station.visits.first?["Authorization"] != nil)
    #expect(elsewhere.visits.count == 1 && elsewhere.visits.first?["Authorization"] == nil)
  }

  @Test("its sound is decoded for one player at a time, and the position follows what is heard")
  func sounds() throws {
    let station = try Station()
    var live = try live(pace: .asRead)
    let file = try readBytes(Fixtures.path("mp3-cbr128-44k.mp3"))
    live.programme = .init(repeating: file, bytesPerSecond: 16_000)
    live.age = 0
    station.answer("/live", with: .live(live))
    try StreamHarness.run(station, blocks: 100) { harness in
      let stream = harness.stream
      try await stream.start()
      stream.pause()
      var heard = 0.0
      // What is heard counts from each move.
      let playback = try stream.attach(heard: { heard }, moved: { heard = 0 })
      let error = #expect(throws: StreamError.self) { try stream.attach(heard: { 0 }, moved: {}) }
      #expect(error?.kind == .inUse)
      let decoder = playback.makeLiveDecoder()
      let block = PCMBlock(format: .session, frames: 1000)
      var samples = 0
      while samples < 44_100 {
        let count = try decoder.read(into: block.view.buffer)
        if count == 0 {
          #expect(decoder.isWaiting)
          try await harness.loop.sleep(for: .milliseconds(10))
        }
        samples += count
      }
      #expect(decoder.format.sampleRate == 44_100 && samples >= 44_100)
      let start = stream.position
      heard = 0.5
      #expect(abs((stream.position - start).seconds - 0.5) < 1e-6)
      // Before the player has got to the first of the moves.
      #expect(abs(try stream.move(by: 0.25) - 0.25) < 0.03)
      #expect(abs(try stream.move(by: 0.25) - 0.25) < 0.03)
      #expect(abs((stream.position - start).seconds - 1) < 0.06)
      stream.detach()
    }
  }
}
