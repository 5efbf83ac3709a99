import Codecs
import RTSP
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("Packets of RTP and the frames in them", .tags(.stream))
struct RTPTests {
  static func packet(
    _ payload: [UInt8], sequence: UInt16 = 0, timestamp: UInt32 = 0, type: UInt8 = 0, source: UInt8 = 7,
    isMarked: Bool = false
  ) -> [UInt8] {
    [0x80, type | (isMarked ? 0x80 : 0), UInt8(sequence >> 8), UInt8(sequence & 0xFF)]
      + (0..<4).map { UInt8(truncatingIfNeeded: timestamp >> (24 - 8 * $0)) } + [0, 0, 0, source] + payload
  }

  private static func medium(_ lines: String) throws -> RTPSound {
    let description = try SessionDescription(Array("v=0\n\(lines)".utf8))
    return try RTPSound.choose(in: description).get().sound
  }

  @Test("padding, sources and an extension are left out; lengths that lie are no packet")
  func head() throws {
    let whole =
      [0xB1, 0x80 | 9] + Self.packet([])[2...] + [1, 1, 1, 1] + [0xBE, 0xDE, 0, 1, 2, 2, 2, 2] + [5, 6, 0, 2]
    let packet = try #require(RTPPacket(Array(whole)))
    #expect(Array(packet.payload) == [5, 6] && packet.payloadType == 9 && packet.isMarked)
    for length in 0..<24 { #expect(RTPPacket(Array(whole.prefix(length))) == nil || length >= 24) }
    var padded = Self.packet([1, 2, 3])
    padded[0] = 0xA0
    padded[padded.count - 1] = 200
    #expect(RTPPacket(padded) == nil)
    #expect(RTPPacket([0x40] + Self.packet([]).dropFirst()) == nil)
  }

  @Test("names that servers give to all presentations are none")
  func names() throws {
    for (name, expected) in [
      ("Nursery", "Nursery"), ("Session streamed with GStreamer", nil), ("No Name", nil),
    ] {
      let description = try SessionDescription(Array("v=0\ns=\(name)\n".utf8))
      #expect(description.stationName == expected)
    }
  }

  @Test("numbers wrap; packets are lost, late, stray, or of a source that has begun anew")
  func sequence() throws {
    var order = RTPSequence()
    func step(_ number: UInt16, source: UInt8 = 7) throws -> RTPSequence.Step {
      order.receive(try #require(RTPPacket(Self.packet([], sequence: number, source: source))))
    }
    #expect(try step(65_534) == .next)
    #expect(try step(65_535) == .next)
    #expect(try step(0) == .next)
    #expect(try step(0) == .old)
    #expect(try step(65_530) == .old)
    #expect(try step(5) == .lost(4))
    #expect(try step(30_000) == .stray)
    #expect(try step(6) == .next)
    #expect(try step(30_000) == .stray)
    #expect(try step(30_001) == .restarted)
    #expect(try step(9, source: 8) == .restarted)
    #expect(try step(10, source: 8) == .next)
  }

  @Test("time stamps count only where they agree with the clock")
  func wrongClock() throws {
    func missing(_ timestamp: UInt32, after seconds: Double) throws -> Double {
      var loss = RTPLoss(clockRate: 8000)
      loss.note(try #require(RTPPacket(Self.packet([]))), seconds: 0.02, at: 10)
      let packet = try #require(RTPPacket(Self.packet([], timestamp: timestamp)))
      return loss.missing(before: packet, count: 10, at: 10 + seconds)
    }
    #expect(try missing(160 + 4000, after: 0.5) == 0.5)
    #expect(try missing(160 + 8_000_000, after: 0.2) == 0.2)
    #expect(try missing(0, after: 0.2) == 0.2)
    #expect(try missing(160, after: 4000) == 0.2)
  }

  @Test("codes of G.711 are those of ffmpeg", arguments: [("mulaw", Companding.mu), ("alaw", .a)])
  func companding(name: String, law: Companding) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write((0...255).map { $0 }, to: "codes")
    let output = try Command.succeed(
      "ffmpeg", ["-v", "error", "-f", name, "-ar", "8000", "-i", path, "-f", "s16le", "-"]
    ).output
    let own = law.table.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    #expect(own == output)
  }

  @Test("MP3 comes out as its own frames, however it is divided", arguments: [100, 418, 1400])
  func mpeg(size: Int) throws {
    let sound = try Self.medium("m=audio 0 RTP/AVP 14\n")
    #expect(sound.coding == .mpeg && sound.clockRate == 90_000)
    let file = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    var reception = RTPReception(sound)
    var frames: [UInt8] = []
    var number: UInt16 = 0
    for start in stride(from: 0, to: file.count, by: size) {
      let payload = [0, 0, 0, 0] + file[start..<min(start + size, file.count)]
      for item in reception.receive(Self.packet(payload, sequence: number, type: 14), at: 0) {
        if case .sound(.frame(_, let bytes)) = item { frames += bytes }
      }
      number += 1
    }
    for case .sound(.frame(_, let bytes)) in reception.end() { frames += bytes }
    #expect(frames == Array(file.prefix(frames.count)))
    #expect(frames.count > file.count - 2000)
  }

  static let aac =
    "m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC/44100/2\n"
    + "a=fmtp:97 streamtype=5; mode=AAC-hbr; config=1210; SizeLength=13; indexlength=3; indexdeltalength=3\n"

  @Test("access units of AAC come out in ADTS: several in a packet, and one in several packets")
  func accessUnits() throws {
    var depacketizer = RTPDepacketizer(try Self.medium(Self.aac))
    func receive(_ payload: [UInt8], timestamp: UInt32 = 0, isMarked: Bool = true) throws -> [[UInt8]] {
      let packet = try #require(
        RTPPacket(Self.packet(payload, timestamp: timestamp, type: 97, isMarked: isMarked)))
      return depacketizer.receive(packet).compactMap {
        if case .frame(let frame, let bytes) = $0 {
          #expect(
            frame.format == StreamFormat(codec: .aac, sampleRate: 44_100, channels: 2)
              && frame.samples == 1024)
          return Array(bytes.dropFirst(7))
        }
        return nil
      }
    }
    #expect(try receive([0, 32, 0, 3 << 3, 0, 2 << 3, 1, 2, 3, 4, 5]) == [[1, 2, 3], [4, 5]])
    #expect(try receive([0, 16, 0, 5 << 3, 1, 2, 3], timestamp: 9, isMarked: false) == [])
    #expect(try receive([0, 16, 0, 5 << 3, 4, 5], timestamp: 9) == [[1, 2, 3, 4, 5]])
    // Sizes that lie.
    #expect(try receive([0, 16, 0, 5 << 3, 1, 2], timestamp: 10) == [])
    #expect(try receive([0, 32, 0, 1 << 3, 0, 200, 1, 2]) == [[1]])
    #expect(try receive([0xFF, 0xFF, 1, 2]) == [])
    #expect(try receive([0]) == [])
    // A unit whose rest was lost is dropped.
    #expect(try receive([0, 16, 0, 5 << 3, 1, 2, 3], timestamp: 11, isMarked: false) == [])
    _ = depacketizer.interrupt()
    #expect(try receive([0, 16, 0, 5 << 3, 4, 5], timestamp: 11) == [])
  }

  @Test("packets of Opus come out as a stream of Ogg that ffmpeg decodes")
  func opus() throws {
    let sound = try Self.medium("m=audio 0 RTP/AVP 96\na=rtpmap:96 opus/48000/2\n")
    var (reception, bytes, samples) = (RTPReception(sound), [UInt8](), 0)
    for number in 0..<50 {
      // Silence of 20 ms in stereo (CELT).
      for case .sound(.frame(let frame, let page)) in reception.receive(
        Self.packet([0xFC, 0xFF, 0xFE], sequence: UInt16(number), type: 96), at: 0)
      {
        bytes += page
        samples += frame.samples
      }
    }
    #expect(samples == 48_000)
    #expect(reception.receive(Self.packet([], sequence: 50, type: 96), at: 0).isEmpty)
    let path = try TemporaryFolder()
    let file = try path.write(bytes, to: "x.opus")
    let output = try Command.succeed("ffmpeg", ["-v", "error", "-i", file, "-f", "s16le", "-"]).output
    #expect(output.count == 48_000 * 4)
  }

  @Test("L16 changes its order of bytes and is cut into pieces of whole frames")
  func l16() throws {
    let sound = try Self.medium("m=audio 0 RTP/AVP 96\na=rtpmap:96 L16/48000/2\n")
    var reception = RTPReception(sound)
    let payload = (0..<9001).map { UInt8(truncatingIfNeeded: $0) }
    var pieces: [[UInt8]] = []
    for case .sound(.frame(let frame, let bytes)) in reception.receive(Self.packet(payload, type: 96), at: 0)
    {
      #expect(frame.samples * 4 == bytes.count)
      pieces.append(bytes)
    }
    #expect(pieces.map(\.count) == [3840, 3840, 1320])
    #expect(Array(pieces[0].prefix(4)) == [1, 0, 3, 2])
  }

  @Test(
    "codings that can't be received are named",
    arguments: [
      ("m=audio 0 RTP/AVP 96\na=rtpmap:96 vorbis/44100/2\n", "audio in VORBIS"),
      ("m=audio 0 RTP/AVP 3\n", "payload type 3"), ("m=audio 0 udp 0\n", "audio by UDP"),
      (
        "m=audio 0 RTP/AVP 96\na=rtpmap:96 mpeg4-generic/8000\na=fmtp:96 mode=CELP-vbr\n",
        "MPEG-4 audio in the mode CELP-vbr"
      ),
      (
        "m=audio 0 RTP/AVP 96\na=rtpmap:96 mpeg4-generic/8000\na=fmtp:96 mode=AAC-hbr;sizelength=13\n",
        "AAC without a configuration"
      ),
    ])
  func unknown(lines: String, words: String) throws {
    let description = try SessionDescription(Array("v=0\n\(lines)".utf8))
    guard case .failure(let obstacle) = RTPSound.choose(in: description) else {
      Issue.record("understood")
      return
    }
    #expect(obstacle.words == words)
  }
}
