import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

private let fixtures = ["aac-lc-44k.aac", "he-aac-v1-48k.aac", "he-aac-v2-48k.aac"]

@Suite("ADTS framing", .tags(.codecs)) struct ADTSFramingTests {
  private func bytes(_ name: String = "aac-lc-44k.aac") throws -> [UInt8] {
    try readBytes(Fixtures.path(name))
  }

  @Test("finds the frames that ffmpeg finds, and no byte is left over", arguments: fixtures)
  func findsAll(name: String) throws {
    let (frames, skipped) = try ADTSFraming.scan(bytes(name))
    #expect(try frames.map { [$0.offset, $0.length] } == packets(ffmpeg: Fixtures.path(name)))
    #expect(skipped == 0)
    #expect(frames.allSatisfy { $0.headerLength == 7 && $0.samples == 1024 })
  }

  @Test(
    "reports rate and channels of the core",
    arguments: zip(fixtures, [[44_100, 2], [24_000, 2], [24_000, 1]]))
  func format(name: String, format: [Int]) throws {
    let frames = try ADTSFraming.frames(of: bytes(name))
    #expect(frames.allSatisfy { [$0.sampleRate, $0.channels] == format })
  }

  @Test("finds the same however the bytes are cut", arguments: [1, 2, 7, 333, 4096])
  func anyPieces(size: Int) throws {
    let stream = try Array(bytes()[100...]) + [1, 2, 0xFF, 0xF1, 3] + bytes("he-aac-v1-48k.aac")
    let (whole, cut) = (ADTSFraming.scan(stream), ADTSFraming.scan(stream, pieces: size))
    #expect(cut.frames == whole.frames && cut.skipped == whole.skipped)
  }

  @Test("returns the bytes of each frame, which together are the stream") func frameBytes() throws {
    let stream = try bytes()
    var framing = ADTSFraming(offset: 5000)
    var joined: [UInt8] = []
    for start in stride(from: 0, to: stream.count, by: 1000) {
      framing.feed(stream[start..<min(stream.count, start + 1000)])
      while let frame = framing.next() {
        #expect(frame.offset == 5000 + joined.count)
        joined += framing.bytes(of: frame)
      }
    }
    framing.end()
    while let frame = framing.next() { joined += framing.bytes(of: frame) }
    #expect(joined == stream)
  }

  @Test("a frame is returned as soon as the next header has arrived") func isPrompt() throws {
    let stream = try bytes()
    let frames = ADTSFraming.frames(of: stream)
    var framing = ADTSFraming()
    framing.feed(stream[..<(frames[9].offset)])
    var count = 0
    while framing.next() != nil { count += 1 }
    #expect(count == 8)
    framing.feed(stream[frames[9].offset..<(frames[9].offset + 7)])
    #expect(framing.next() == frames[8])
    #expect(framing.next() == nil)
  }

  @Test("joined in mid-frame, begins at the next frame", arguments: [1, 50, 204, 206])
  func joinsAnywhere(offset: Int) throws {
    let stream = try bytes()
    let all = ADTSFraming.frames(of: stream)
    let joined = ADTSFraming.frames(of: Array(stream[offset...]))
    let expected = all.filter { $0.offset >= offset }
    #expect(joined.map { $0.offset + offset } == expected.map(\.offset))
  }

  @Test("a frame that another stream cuts off is not returned") func cutOff() throws {
    let first = try bytes()
    let frames = ADTSFraming.frames(of: first)
    let middle = frames[20].offset + 60
    let second = try bytes("he-aac-v1-48k.aac")
    let (found, skipped) = ADTSFraming.scan(Array(first[..<middle]) + second)
    #expect(found.prefix(20) == frames.prefix(20))
    #expect(found[20].offset == middle && found[20].sampleRate == 24_000)
    #expect(skipped == 60)
  }

  @Test("bytes between frames cost no frame") func garbageBetween() throws {
    let stream = try bytes()
    let frames = ADTSFraming.frames(of: stream)
    var random = SeededRandom(seed: 5)
    let noise = random.bytes(3000)
    let border = frames[30].offset
    let (found, skipped) = ADTSFraming.scan(Array(stream[..<border]) + noise + stream[border...])
    #expect(found.count == frames.count)
    #expect(found[30].offset == border + 3000)
    #expect(skipped == 3000)
  }

  @Test("ID3v2 tags are passed over, in front and between frames") func tags() throws {
    let stream = try bytes()
    let frames = ADTSFraming.frames(of: stream)
    let border = frames[30].offset
    let tagged = id3v2(5000, footer: true) + stream[..<border] + id3v2(77) + stream[border...]
    let (found, skipped) = ADTSFraming.scan(tagged, pieces: 600)
    #expect(found.map(\.length) == frames.map(\.length))
    #expect(found[0].offset == 5020 && found[30].offset == border + 5020 + 87)
    #expect(skipped == 0)
  }

  @Test("a frame that the end cuts off is not returned") func endsInFrame() throws {
    let stream = try bytes()
    let frames = ADTSFraming.frames(of: stream)
    let (found, skipped) = ADTSFraming.scan(Array(stream.dropLast(10)))
    #expect(found == frames.dropLast())
    #expect(skipped == (frames.last?.length ?? 0) - 10)
  }

  @Test("headers with invalid fields are no headers") func refusesNonsense() throws {
    let stream = try bytes()
    let frames = ADTSFraming.frames(of: stream)
    /// Returns the number of frames found after a change of every header.
    func count(_ change: (inout [UInt8], Int) -> Void) -> Int {
      var changed = stream
      for frame in frames { change(&changed, frame.offset) }
      return ADTSFraming.frames(of: changed).count
    }
    #expect(count { $0[$1] = 0xFE } == 0)
    #expect(count { $0[$1 + 1] |= 2 } == 0)
    #expect(count { $0[$1 + 2] |= 0x3C } == 0)
    #expect(count { ($0[$1 + 3], $0[$1 + 4], $0[$1 + 5]) = ($0[$1 + 3] & 0xFC, 0, 0x40) } == 0)
    #expect(
      count {
        $0[$1 + 1] |= 8; $0[$1 + 2] |= 0xC0
      } == 0)
  }

  @Test("a checksum makes the header longer") func checksum() throws {
    let stream = try bytes()
    var protected: [UInt8] = []
    for frame in ADTSFraming.frames(of: stream) {
      var bytes = Array(stream[frame.offset..<(frame.offset + frame.length)])
      let length = frame.length + 2
      bytes[1] &= 0xFE
      bytes[3] = bytes[3] & 0xFC | UInt8(length >> 11)
      bytes[4] = UInt8(length >> 3 & 0xFF)
      bytes[5] = bytes[5] & 0x1F | UInt8(length & 7) << 5
      protected += bytes[..<7] + [0xAB, 0xCD] + bytes[7...]
    }
    let frames = ADTSFraming.frames(of: protected)
    #expect(frames.count == ADTSFraming.frames(of: stream).count)
    #expect(frames.allSatisfy { $0.headerLength == 9 })
  }
}
