import Codecs
import EventLoop
import Glibc
import HTTP
import RTSP
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

/// A receiver of a server of RTSP, with a record of its events.
private final class RTSPListener: Sendable {
  let buffer: StreamBuffer
  let reception: RTSPReceiver
  private let network: NetworkThread
  private let reported = Lock<[String]>([])
  private let failures = Lock<[StreamError]>([])
  private let missing = Lock<[Double]>([])

  init(_ url: String, _ options: ReceiverOptions = .init(), blocks: Int = 200) throws {
    network = try NetworkThread()
    buffer = StreamBuffer(blocks: blocks, wait: .zero)
    buffer.keepUnheard(true)
    let tee = FrameTee()
    tee.play(buffer)
    let (reported, failures, missing) = (reported, failures, missing)
    reception = RTSPReceiver(at: try StreamAddress(url), options: options, network: network, tee: tee) {
      event in
      let word: String
      switch event {
      case .answered(let station): word = "answered \(station.name ?? "-")"
      case .format(let format): word = "format \(format.codec) \(format.sampleRate) \(format.channels)"
      case .failed(let error):
        failures.withLock { $0.append(error) }
        word = "failed \(error.code)"
      case .gaveUp(let error): word = "gave up \(error.code)"
      case .reconnected(let gap, _, _):
        missing.withLock { $0.append(gap) }
        word = "gap"
      case .file(let facts): word = "file \(facts.canSeek) \(facts.duration ?? -1)"
      default: word = "\(event)"
      }
      reported.withLock { $0.append(word) }
    }
    reception.start()
  }

  deinit {
    reception.stop()
    network.close()
  }

  var events: [String] { reported.withLock { $0 } }
  var errors: [StreamError] { failures.withLock { $0 } }
  var gaps: [Double] { missing.withLock { $0 } }

  /// Waits until a condition holds, a minute at most.
  func wait(_ condition: (RTSPListener) -> Bool) -> Bool {
    for _ in 0..<6_000 {
      if condition(self) { return true }
      usleep(10_000)
    }
    return false
  }

  /// Waits for so many seconds of sound.
  func wait(seconds: Double) -> Bool { wait { $0.buffer.range.end.seconds >= seconds - 0.001 } }

  /// Returns the frames that can be read, with the discontinuities before them.
  func frames() -> [(bytes: [UInt8], gap: Double?)] {
    var frames: [(bytes: [UInt8], gap: Double?)] = []
    while case .frame(let packet, let bytes) = buffer.read() {
      var gap: Double?
      if case .gap(let seconds)? = packet.discontinuity { gap = seconds }
      frames.append((bytes, gap))
    }
    return frames
  }
}

@Suite("Streams by RTSP", .waiting, .tags(.stream, .reconnection))
struct RTSPReceiverTests {
  /// The samples of a packet whose codes are a number.
  private static func samples(_ number: Int) -> [UInt8] {
    let sample = UInt16(bitPattern: Companding.mu.table[number & 0xFF])
    return (0..<160).flatMap { _ in [UInt8(sample & 0xFF), UInt8(sample >> 8)] }
  }

  @Test("the sound arrives as it was sent, and numbers and times may wrap")
  func sound() throws {
    let station = try RTSPStation { line, _ in
      guard line.begin(RTSPStation.pcmu) else { return }
      line.sound(100)
      _ = line.next(within: 30_000)
    }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait(seconds: 2))
    #expect(receiver.frames().map(\.bytes) == (0..<100).map(Self.samples))
    #expect(receiver.events.prefix(3) == ["connecting", "answered Nursery", "format l16 8000 1"])
    #expect(receiver.gaps.isEmpty)
    receiver.reception.stop()
    #expect(receiver.wait { _ in station.requests.last == "TEARDOWN" })
  }

  @Test("packets that are lost, repeated and late end in a gap of their length, and in nothing else")
  func lost() throws {
    let station = try RTSPStation { line, _ in
      guard line.begin(RTSPStation.pcmu) else { return }
      line.sound(10)
      let before = (line.sequence, line.timestamp)
      line.sound(1, from: 10)
      (line.sequence, line.timestamp) = before
      line.sound(1, from: 10)
      line.lose(25)
      line.sound(10, from: 36)
      // Data of channels that were not set up, what is no packet, and another payload.
      line.send([0x24, 9, 0, 2, 1, 2, 0x24, 0, 0, 3, 1, 2, 3])
      line.send(line.packet([1, 2, 3], ticks: 0, type: 99))
      line.sequence &-= 1
      line.sound(5, from: 46)
      _ = line.next(within: 30_000)
    }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait(seconds: 0.52))
    let frames = receiver.frames()
    #expect(frames.map(\.bytes) == (Array(0..<11) + Array(36..<51)).map(Self.samples))
    #expect(receiver.gaps.count == 1)
    #expect(abs((receiver.gaps.first ?? 0) - 0.5) < 0.001)
    #expect(frames.compactMap(\.gap) == receiver.gaps)
  }

  @Test("a connection that ends in mid-packet is followed by another one, after a gap by the clock")
  func cut() throws {
    let station = try RTSPStation { line, number in
      guard line.begin(RTSPStation.pcmu) else { return }
      line.sound(50, from: number * 50)
      let packet = line.packet([UInt8](repeating: 0, count: 160), ticks: 160)
      if number == 0 {
        usleep(300_000)
        return line.send(Array(packet.prefix(60)))
      }
      _ = line.next(within: 30_000)
    }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait(seconds: 2))
    let frames = receiver.frames()
    #expect(frames.map(\.bytes) == (0..<100).map(Self.samples))
    #expect(receiver.gaps.count == 1 && receiver.events.contains("failed stream.network"))
    #expect(frames[50].gap == receiver.gaps.first)
  }

  @Test("a server that has sounded is asked again and again, however it ends")
  func attempts() throws {
    let station = try RTSPStation { line, number in
      if (1...3).contains(number) {
        if number == 2 { line.send(Array("HTTP/1.0 400 Bad\r\n\r\n".utf8)) }
        return
      }
      guard line.begin(RTSPStation.pcmu) else { return }
      line.sound(50)
      if number > 0 { _ = line.next(within: 30_000) }
    }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait(seconds: 2))
    #expect(receiver.events.filter { $0 == "connecting" }.count == 5)
    #expect(!receiver.events.contains { $0.hasPrefix("gave up") })
  }

  @Test("a server that closes at once for an hour is asked ever more rarely, and is heard when it is back")
  func hour() throws {
    let station = try RTSPStation { line, number in
      guard !(1..<330).contains(number), line.begin(RTSPStation.pcmu) else { return }
      line.sound(50)
      if number > 0 { while let request = line.next(within: 30_000) { line.answer(request) } }
    }
    var options = ReceiverOptions()
    // An hour takes some seconds, in which no answer is late.
    (options.clock, options.dataTimeout) = (.faster(1000), .seconds(100_000))
    let receiver = try RTSPListener(station.url, options)
    #expect(receiver.wait(seconds: 2))
    #expect(receiver.events.filter { $0 == "connecting" }.count == 331)
    #expect(receiver.gaps.count == 1 && (receiver.gaps.first ?? 0) > 1800, "\(receiver.gaps)")
    #expect(receiver.errors.allSatisfy { $0.kind == .network })
  }

  @Test("a source that begins anew is followed, with a gap by the clock")
  func restarted() throws {
    let station = try RTSPStation { line, _ in
      guard line.begin(RTSPStation.pcmu) else { return }
      line.sound(10)
      line.sequence = 20_000
      line.timestamp = 5
      // A single stray packet proves nothing.
      line.sound(1, from: 99)
      line.sequence = 40_000
      line.sound(1, from: 99)
      line.sound(10, from: 10)
      _ = line.next(within: 30_000)
    }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait(seconds: 0.4))
    #expect(receiver.frames().map(\.bytes) == (0..<20).map(Self.samples))
    #expect(receiver.gaps.count == 1)
  }

  @Test(
    "a server without sound that is understood is refused in words",
    arguments: [
      ("v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n", "stream.unsupported", "found video"),
      (
        "v=0\r\nm=audio 0 RTP/AVP 96\r\na=rtpmap:96 MP4A-LATM/90000\r\n", "stream.unsupported",
        "audio in MP4A-LATM"
      ),
      ("v=0\r\ns=x\r\n", "stream.unsupported", "no medium"), ("<html>", "stream.content", "no description"),
    ])
  func unusable(description: String, code: String, words: String) throws {
    let station = try RTSPStation { line, _ in _ = line.begin(description) }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait { $0.events.last == "gave up \(code)" }, "\(receiver.events)")
    #expect(receiver.errors.first?.message.contains(words) == true, "\(receiver.errors)")
    #expect(!station.requests.contains("SETUP"))
  }

  @Test("the first audio medium that is understood is set up, and no video")
  func choice() throws {
    let description =
      "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:v\r\n"
      + "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 G726-32/8000\r\na=control:x\r\n"
      + "m=audio 0 RTP/AVP 98 0\r\na=rtpmap:98 AMR/8000\r\na=control:a\r\n"
    let uris = Lock<[String]>([])
    let station = try RTSPStation { line, _ in
      while let request = line.next() {
        if request.method == "SETUP" { uris.withLock { $0.append(request.uri) } }
        line.answer(request, 200, [], body: request.method == "DESCRIBE" ? Array(description.utf8) : [])
      }
    }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait { $0.events.last?.hasPrefix("gave up") == true })
    #expect(uris.withLock { $0 } == [station.url + "/a"])
    #expect(receiver.errors.first?.message.contains("without a session") == true)
  }

  @Test("a description of 10 MB, another status and another protocol are failures with their codes")
  func failures() throws {
    let answers: [(String, String)] = [
      ("RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 10485760\r\n\r\n", "stream.content"),
      ("RTSP/1.0 404 Not Found\r\nCSeq: 2\r\n\r\n", "stream.not_found"),
      ("RTSP/1.0 503 Busy\r\nCSeq: 2\r\n\r\n", "stream.http"),
      ("RTSP/1.0 401 No\r\nCSeq: 2\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n", "stream.auth"),
      ("SSH-2.0-server\r\n", "stream.content"),
    ]
    for (answer, code) in answers {
      let station = try RTSPStation { line, _ in
        guard let request = line.next() else { return }
        if answer.contains("CSeq: 2") {
          line.answer(request)
          _ = line.next()
        }
        line.send(Array(answer.utf8))
        _ = line.next(within: 30_000)
      }
      let receiver = try RTSPListener(station.url)
      #expect(receiver.wait { $0.events.last == "gave up \(code)" }, "\(answer): \(receiver.events)")
    }
  }

  @Test("user and password go to the own server, and not where it redirects to")
  func credentials() throws {
    let seen = Lock<[String?]>([])
    let other = try RTSPStation { line, _ in
      while let request = line.next() {
        seen.withLock { $0.append(request.headers["Authorization"]) }
        line.answer(request, 401, [("WWW-Authenticate", "Basic realm=x")])
      }
    }
    let target = other.url
    let station = try RTSPStation { line, _ in
      while let request = line.next() {
        if request.headers["Authorization"] == "Basic dTpwIDE=" {
          line.answer(request, 302, [("Location", target)])
        } else {
          line.answer(request, 401, [("WWW-Authenticate", "Basic realm=x")])
        }
      }
    }
    let url = station.url.replacing("rtsp://", with: "rtsp://u:p%201@")
    let receiver = try RTSPListener(url)
    #expect(receiver.wait { $0.events.last == "gave up stream.auth" }, "\(receiver.events)")
    #expect(seen.withLock { $0 } == [nil])
    #expect(!receiver.errors.contains { $0.description.contains("p%201") })
  }

  @Test("redirects without end are refused")
  func redirects() throws {
    let station = try RTSPStation { line, _ in
      guard let request = line.next() else { return }
      line.answer(request, 302, [("Location", request.uri)])
    }
    let receiver = try RTSPListener(station.url)
    #expect(receiver.wait { $0.events.last == "gave up stream.network" }, "\(receiver.events)")
    #expect(receiver.errors.first?.message.contains("redirects too often") == true)
    #expect(station.requests.count == 11)
  }

  @Test(
    "a presentation with a range is a file: it rests when enough has come, and is moved by a request to play")
  func file() throws {
    let description = RTSPStation.pcmu.replacing("a=control:*", with: "a=control:*\r\na=range:npt=0-20")
    let station = try RTSPStation { line, _ in
      guard line.begin(description) else { return }
      line.sound(200)
      while let request = line.next(within: 30_000) {
        line.answer(request, 200, request.headers["Range"].map { [("Range", $0)] } ?? [])
        guard request.method == "PLAY" else { continue }
        line.sound(50, from: request.headers["Range"] == nil ? 200 : 750)
      }
    }
    var options = ReceiverOptions()
    (options.fileLead, options.fileWait) = (StreamTime(seconds: 2), StreamTime(seconds: 1))
    let receiver = try RTSPListener(station.url, options)
    #expect(receiver.wait { $0.events.contains("heldBack") })
    #expect(receiver.events.contains("file true 20.0"))
    #expect(receiver.wait { _ in station.requests.last == "PAUSE" })
    // What was on its way is not lost: all of it is read, and then the rest is requested.
    var frames: [[UInt8]] = []
    #expect(
      receiver.wait {
        frames += $0.frames().map(\.bytes)
        return frames.count >= 250
      })
    #expect(frames.prefix(250).elementsEqual((0..<250).map(Self.samples)))
    #expect(station.requests.filter { $0.hasPrefix("PLAY") } == ["PLAY npt=0.000-", "PLAY"])
    let generation = receiver.buffer.beginSeek(to: StreamTime(seconds: 15), wanted: .zero)
    receiver.reception.seek(to: StreamTime(seconds: 15), generation: generation)
    #expect(receiver.wait { $0.buffer.range.end.seconds >= 16 - 0.001 })
    #expect(receiver.buffer.range.start == StreamTime(seconds: 15))
    #expect(station.requests.contains("PLAY npt=15.000-"))
    #expect(receiver.frames().map(\.bytes) == (750..<800).map(Self.samples))
  }

  @Test(
    "a file is complete at its end, whether the server says so, closes, or falls silent",
    arguments: [0, 1, 2])
  func fileEnd(way: Int) throws {
    let description = RTSPStation.pcmu.replacing("a=control:*", with: "a=control:*\r\na=range:npt=0-2")
    let station = try RTSPStation { line, _ in
      guard line.begin(description) else { return }
      line.sound(100)
      if way == 0 { line.send([0x24, 1, 0, 8, 0x81, 203, 0, 1, 0, 0, 0, 7]) }
      if way != 1 { while let request = line.next(within: 30_000) { line.answer(request) } }
    }
    var options = ReceiverOptions()
    options.fileLead = StreamTime(seconds: 5)
    let receiver = try RTSPListener(station.url, options)
    var frames: [[UInt8]] = []
    #expect(
      receiver.wait {
        while case .frame(_, let bytes) = $0.buffer.read() { frames.append(bytes) }
        if case .end = $0.buffer.read() { return true } else { return false }
      })
    #expect(frames == (0..<100).map(Self.samples))
    #expect(receiver.gaps.isEmpty)
  }

  @Test("a file whose connection is lost continues where it was")
  func fileLoss() throws {
    let description = RTSPStation.pcmu.replacing("a=control:*", with: "a=control:*\r\na=range:npt=0-4")
    let station = try RTSPStation { line, number in
      guard line.begin(description) else { return }
      line.sound(100, from: number * 100)
      if number > 0 { while let request = line.next(within: 30_000) { line.answer(request) } }
    }
    var options = ReceiverOptions()
    options.fileLead = StreamTime(seconds: 10)
    let receiver = try RTSPListener(station.url, options)
    #expect(receiver.wait(seconds: 4))
    #expect(receiver.frames().map(\.bytes) == (0..<200).map(Self.samples))
    #expect(station.requests.contains("PLAY npt=2.000-"))
  }
}
