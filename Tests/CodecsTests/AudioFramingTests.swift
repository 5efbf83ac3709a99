import Codecs
import TestSupport
import TestTraits
import Testing

@Suite("Framing of any codec", .tags(.codecs)) struct AudioFramingTests {
  /// Returns the frames of a stream that is fed in pieces of `size` bytes, and the number of bytes outside of
  /// them.
  private func scan(_ bytes: [UInt8], pieces size: Int = .max) -> (frames: [AudioFraming.Frame], skipped: Int)
  {
    var framing = AudioFraming()
    var frames: [AudioFraming.Frame] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      framing.feed(rest.prefix(size))
      rest = rest.dropFirst(size)
      while let frame = framing.next() { frames.append(frame) }
    }
    framing.end()
    while let frame = framing.next() { frames.append(frame) }
    return (frames, framing.skippedBytes)
  }

  private func bytes(_ name: String) throws -> [UInt8] { try readBytes(Fixtures.path(name)) }

  @Test(
    "finds what the framing of the one codec finds",
    arguments: [
      "aac-lc-44k.aac", "he-aac-v2-48k.aac", "mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3",
      "mp3-mpeg25-32-11k-mono.mp3",
    ])
  func likeOne(name: String) throws {
    let stream = try bytes(name)
    let isAAC = name.hasSuffix("aac")
    let expected = isAAC ? ADTSFraming.frames(of: stream) : MPEGAudioFraming.frames(of: stream)
    let found = scan(stream).frames
    #expect(found.map(\.encoded) == expected)
    #expect(found.allSatisfy { $0.codec == (isAAC ? .aac : .mp3) })
  }

  @Test("the codec may change in mid-frame", arguments: [1, 7, 1000, .max]) func change(size: Int) throws {
    let (mp3, aac) = (try bytes("mp3-cbr128-44k.mp3"), try bytes("aac-lc-44k.aac"))
    let first = scan(mp3).frames
    let cut = first[40].encoded.offset + 200
    let (found, skipped) = scan(Array(mp3[..<cut]) + aac, pieces: size)
    #expect(found.prefix(40) == first.prefix(40))
    #expect(found[40].codec == .aac && found[40].encoded.offset == cut)
    #expect(found.count == 40 + scan(aac).frames.count)
    #expect(skipped == 200)
  }

  @Test(
    "a frame is confirmed by a frame of any kind, a tag or the end behind it, and not by other bytes",
    arguments: ["mp3-cbr128-44k.mp3", "aac-lc-44k.aac"])
  func confirmed(name: String) throws {
    let stream = try bytes(name)
    let frames = scan(stream).frames
    #expect(!frames.contains { !$0.isConfirmed })
    let end = frames[40].encoded.offset
    let (whole, cut) = (Array(stream[..<end]), Array(stream[..<(end - 150)]))
    func last(_ bytes: [UInt8]) -> Bool? { scan(bytes).frames.last { $0.encoded.offset < end }?.isConfirmed }
    let junk = [UInt8](repeating: 7, count: 600)
    #expect(last(whole + junk) == false && last(cut + junk) == false)
    #expect(last(whole) == true && last(whole + Array("TAG".utf8) + junk) != false)
    let other = try bytes(name.hasSuffix("aac") ? "mp3-cbr128-44k.mp3" : "aac-lc-44k.aac")
    #expect(last(whole + other) == true)
  }

  @Test("reports what a frame of layer III needs of earlier frames") func reservoir() throws {
    let stream = try bytes("mp3-cbr128-44k.mp3")
    var framing = MPEGAudioFraming()
    framing.feed(stream)
    framing.end()
    var expected: [Int] = []
    while let frame = framing.next() { expected.append(frame.mainDataBegin) }
    let found = scan(stream).frames
    #expect(found.map(\.mainDataBegin) == expected)
    // 4 bytes of header, 32 of side information of two channels.
    #expect(found.allSatisfy { $0.overhead == 36 })
    #expect(try scan(bytes("aac-lc-44k.aac")).frames.allSatisfy { $0.overhead == 7 && $0.mainDataBegin == 0 })
  }

  @Test("returns the bytes of a frame, and the number that wait") func frameBytes() throws {
    let stream = try bytes("aac-lc-44k.aac")
    var framing = AudioFraming()
    framing.feed(stream[..<5000])
    var end = 0
    while let frame = framing.next()?.encoded {
      var copy: [UInt8] = []
      #expect(framing.withBytes(at: frame.offset, count: frame.length) { copy = Array($0) })
      end = frame.offset + frame.length
      #expect(copy == Array(stream[frame.offset..<end]))
    }
    #expect(framing.pendingBytes == 5000 - end)
    #expect(!framing.withBytes(at: 4000, count: 1001) { _ in Issue.record("bytes that were not fed") })
  }
}
