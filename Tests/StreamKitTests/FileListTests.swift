import AudioCore
import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite("A list of files, and files without a length", .waiting, .tags(.stream, .playlists, .files))
struct FileListTests {
  /// Returns a WAV file of a tone, 8 kHz and mono.
  private func tone(_ seconds: Double) throws -> [UInt8] {
    let folder = try TemporaryFolder()
    let samples = (0..<Int(8_000 * seconds)).map { Float($0 % 20 < 10 ? 0.25 : -0.25) }
    let path = folder.file("tone.wav")
    try Sound(interleaved: samples, format: .init(sampleRate: 8_000, channels: 1)).write(to: path)
    return try readBytes(path)
  }

  /// Returns the events of a stream at `/live` until it stopped.
  private func reported(
    _ station: Station, options: StreamOptions = .init(), limit: Duration = .seconds(30),
    until last: String = "stopped"
  ) throws -> [String] {
    let network = try NetworkThread()
    defer { network.close() }
    let loop = EventLoop()
    var options = options
    (options.bufferWaitFile, options.bufferWait) = (.milliseconds(50), .milliseconds(50))
    let stream = try Playback.Stream(
      at: StreamAddress(station.url("/live")), options: options, loop: loop, network: { network })
    var reported: [String] = []
    stream.onEvent { reported.append("\($0)".split(separator: "(").first.map(String.init) ?? "") }
    try loop.finish(
      {
        try await stream.start()
        let end = loop.now.advanced(by: limit)
        while !reported.contains(last), loop.now < end { try await loop.sleep(for: .milliseconds(10)) }
      }, last: { stream.stop() })
    return reported
  }

  @Test(
    "files of a list are played in turn, those that are not there left out, and the list ends with the last")
  func inTurn() throws {
    let station = try Station()
    let file = try tone(0.2)
    station.answer(
      "/live", with: .page("#EXTM3U\n/one\n/gone\n/two\n/three\n", type: "audio/x-mpegurl"))
    for path in ["/one", "/two", "/three"] { station.answer(path, with: .file(file, type: "audio/wav")) }
    let reported = try reported(station)
    #expect(
      reported == [
        "connecting", "buffering", "started", "fileComplete", "connecting", "failed", "connecting",
        "buffering", "started", "fileComplete", "connecting", "buffering", "started",
        "fileComplete", "stopped",
      ])
    #expect(station.visits.map(\.target) == ["/live", "/one", "/gone", "/two", "/three"])
  }

  @Test("stations of a list are a choice: the next is asked for only when one fails")
  func choice() throws {
    let station = try Station()
    let programme = try FrameProgramme(.mp3, seconds: 20, silence: [])
    station.answer("/live", with: .page("#EXTM3U\n/one\n/two\n", type: "audio/x-mpegurl"))
    station.answer("/one", with: .live(Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))))
    _ = try reported(station, limit: .seconds(1), until: "started")
    #expect(station.visits.map(\.target) == ["/live", "/one"])
  }

  @Test(
    "the type of a list is that of the stream's own URL, not of what it lists", arguments: ["pls", "m3u"])
  func typed(name: String) throws {
    let station = try Station()
    let programme = try FrameProgramme(.mp3, seconds: 20, silence: [])
    let list = name == "pls" ? "[playlist]\nFile1=/one\n" : "/one\n"
    station.answer("/live", with: .page(list, type: "application/octet-stream"))
    station.answer("/one", with: .live(Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))))
    var options = StreamOptions()
    options.kind = name == "pls" ? .pls : .m3u
    #expect(try reported(station, options: options, until: "started").contains("started"))
  }

  @Test("a file without a length is heard once, not fetched for ever", arguments: [4.0, 0.2])
  func endless(seconds: Double) throws {
    let station = try Station()
    let programme = try FrameProgramme(.mp3, seconds: seconds, silence: [])
    station.answer("/live", with: .page(programme.bytes, type: "audio/mpeg").chunked(1_000))
    let network = try NetworkThread()
    defer { network.close() }
    let receiver = try Receiver(url: station.url("/live"), network: network)
    #expect(receiver.wait(for: "complete"), "\(receiver.events)")
    let isWhole = receiver.end() == programme.bytes
    #expect(isWhole)
    #expect((2...10).contains(station.visits.count), "\(station.visits.count)")
  }

  @Test("a station that ends its connections in order is no file, though it states nothing of itself")
  func closing() throws {
    let station = try Station()
    let programme = try FrameProgramme(.mp3, seconds: 60, silence: [])
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))
    (live.stationHeaders, live.pace) = ([], .asRead)
    station.answer(
      "/live", with: .live(live).dropping(at: 300_000, by: .finish),
      .live(live).dropping(at: 600_000, by: .finish), .live(live))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "full"), "\(receiver.events)")
    #expect(!receiver.events.contains("complete"))
    _ = receiver.end()
  }

  @Test(
    "user and password go to the server of the stream's URL by its scheme, host and port, also from the URL")
  func credentials() throws {
    let (station, other) = (try Station(), try Station())
    let programme = try FrameProgramme(.mp3, seconds: 20, silence: [])
    let live = Answer.live(Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000)))
    station.answer("/live", with: .page("/one\n", type: "audio/x-mpegurl"))
    station.answer("/away", with: .page("\(other.url("/one"))\n", type: "audio/x-mpegurl"))
    station.answer("/one", with: live)
    other.answer("/one", with: live)
    func listen(_ url: String, _ credentials: HTTPCredentials? = nil) throws {
      var options = ReceiverOptions()
      options.credentials = credentials
      let receiver = try Receiver(url: url, options: options)
      #expect(receiver.wait(for: "format"))
      _ = receiver.end()
    }
    try listen(station.url("/live").replacing("http://", with: "http://me:secret@"))
    #expect(station.visits.allSatisfy { $0["Authorization"] == "Basic bWU6c2VjcmV0" })
    #expect(station.visits.count == 2)
    try listen(station.url("/away"), HTTPCredentials(user: "me", password: "secret"))
    try listen(station.url("/away").replacing("http://", with: "http://me:secret@"))
    #expect(other.visits.count == 2 && other.visits.allSatisfy { $0["Authorization"] == nil })
  }

  @Test("a live server that sends faster than real time is read up to 20 s ahead of it")
  func throttled() throws {
    let station = try Station()
    let programme = try FrameProgramme(.mp3, seconds: 60, silence: [])
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))
    live.pace = .asRead
    station.answer("/live", with: .live(live))
    let network = try NetworkThread()
    defer { network.close() }
    let loop = EventLoop()
    var options = StreamOptions()
    (options.bufferWait, options.bufferBlocks) = (.seconds(1), 200)
    // The clock runs ten times as fast as the station's.
    options.clock = .faster(10)
    let stream = try Playback.Stream(
      at: StreamAddress(station.url("/live")), options: options, loop: loop, network: { network })
    try loop.finish(
      {
        let begin = loop.now
        try await stream.start()
        var (most, least) = (0.0, 1e9)
        while begin.duration(to: loop.now) < .milliseconds(1500) {
          let end = stream.buffer?.range.end.seconds ?? 0
          let before = 10 * Double(begin.duration(to: loop.now).nanoseconds) / 1e9
          most = max(most, end - before)
          if before > 5 { least = min(least, end - before) }
          try await loop.sleep(for: .milliseconds(10))
        }
        // The limit includes the block that curl reads at once.
        #expect(most < 25, "\(most) s ahead")
        #expect(stream.buffer?.range.end.seconds ?? 0 > 25, "it is read again")
      }, last: { stream.stop() })
    #expect(station.visits.count == 1)
  }

  /// A live stream that plays as soon as 0.1 s of it has come.
  private func stream(
    of station: Station, _ pace: Live.Pace, _ loop: EventLoop, _ network: NetworkThread
  ) throws -> Playback.Stream {
    let programme = try FrameProgramme(.mp3, seconds: 20, silence: [])
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))
    live.pace = pace
    station.answer("/live", with: .live(live))
    var options = StreamOptions()
    options.bufferWait = .milliseconds(100)
    return try Playback.Stream(
      at: StreamAddress(station.url("/live")), options: options, loop: loop, network: { network })
  }

  @Test("sound that is too little to go on with does not play once the server is gone")
  func tooLittle() throws {
    let (station, loop, network, edge) = (try Station(), EventLoop(), try NetworkThread(), Lock(60_000))
    defer { network.close() }
    let stream = try stream(of: station, .controlled { edge.withLock { $0 } }, loop, network)
    try loop.finish(
      {
        try await stream.start()
        // All of the burst has come when it is dry behind the end.
        for _ in 0..<600 where stream.status != .buffering {
          _ = try stream.move(by: 1e6)
          try await loop.sleep(for: .milliseconds(50))
        }
        let end = stream.buffer?.range.end
        edge.withLock { $0 += 1_000 }
        for _ in 0..<600 where stream.buffer?.range.end == end {
          try await loop.sleep(for: .milliseconds(20))
        }
        #expect(stream.isPlaying && stream.status == .buffering)
        station.refuse()
        station.cut()
        for _ in 0..<600 where stream.isPlaying || stream.status != .connecting {
          try await loop.sleep(for: .milliseconds(20))
        }
        #expect(!stream.isPlaying && stream.status == .connecting)
      }, last: { stream.stop() })
  }

  @Test("with an empty buffer and a silent server, nothing plays")
  func nothing() throws {
    let (station, loop, network) = (try Station(), EventLoop(), try NetworkThread())
    defer { network.close() }
    let stream = try stream(of: station, .realTime(1), loop, network)
    try loop.finish(
      {
        try await stream.start()
        _ = try stream.move(by: 1e6)
        #expect(stream.isPlaying)
        station.refuse()
        station.cut()
        // It may connect already while the last of the buffer is heard.
        for _ in 0..<600 where stream.isPlaying || stream.status != .connecting {
          try await loop.sleep(for: .milliseconds(20))
        }
        #expect(!stream.isPlaying && stream.status == .connecting)
        station.accept()
        for _ in 0..<600 where !stream.isPlaying { try await loop.sleep(for: .milliseconds(20)) }
        #expect(stream.isPlaying)
      }, last: { stream.stop() })
  }
}
