import AudioCore
import Codecs
import TestSupport
import TestTraits
import Testing

/// Forms of an ADTS frame that no available encoder writes, built from the frames of one.
///
/// Source: ISO/IEC 13818-7 §6.2: with a checksum and several blocks, the header holds the start of each block
/// but the first, in 16 bits each, and a checksum of 16 bits follows it and every block.
@Suite("ADTS frames with checksums and several blocks", .tags(.codecs)) struct ADTSBlocksTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Returns the stream with `count` raw data blocks in a frame, with or without checksums.
  private func stream(_ name: String, blocks count: Int, hasChecksum: Bool) throws -> [UInt8] {
    let bytes = try readBytes(Fixtures.path(name))
    var rest = ADTSFraming.frames(of: bytes)[...]
    var stream: [UInt8] = []
    while let first = rest.first {
      let blocks = rest.prefix(count).map {
        Array(bytes[($0.offset + $0.headerLength)..<($0.offset + $0.length)])
      }
      rest = rest.dropFirst(count)
      let header = Array(bytes[first.offset..<(first.offset + 7)])
      stream += frame(header, blocks, hasChecksum: hasChecksum)
    }
    return stream
  }

  private func frame(_ plain: [UInt8], _ blocks: [[UInt8]], hasChecksum: Bool) -> [UInt8] {
    func big(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }
    let checksum: [UInt8] = hasChecksum ? [0xAB, 0xCD] : []
    var body: [UInt8] = []
    var offsets: [UInt8] = []
    for (index, block) in blocks.enumerated() {
      if index > 0, hasChecksum { offsets += big(body.count) }
      body += block
      if blocks.count > 1 { body += checksum }
    }
    let length = plain.count + offsets.count + checksum.count + body.count
    var header = plain
    header[1] = header[1] & 0xFE | (hasChecksum ? 0 : 1)
    header[3] = header[3] & 0xFC | UInt8(length >> 11)
    header[4] = UInt8(length >> 3 & 0xFF)
    header[5] = header[5] & 0x1F | UInt8(length & 7) << 5
    header[6] = header[6] & 0xFC | UInt8(blocks.count - 1)
    return header + offsets + checksum + body
  }

  @Test(
    "sound as the same blocks in frames of their own, and seek like them",
    arguments: ["aac-lc-44k.aac", "he-aac-v1-48k.aac", "he-aac-v2-48k.aac"], [1, 2, 3, 4])
  func blocks(name: String, count: Int) throws {
    let plain = try Sound(file: Fixtures.path(name))
    for hasChecksum in [false, true] {
      let stream = try stream(name, blocks: count, hasChecksum: hasChecksum)
      let path = try folder.write(stream, to: "t.aac")
      let decoder = try AudioFile.open(path)
      #expect(decoder.frameCount == plain.frameCount)
      #expect(try Sound(decoding: decoder) == plain, "checksum: \(hasChecksum)")
      guard name.contains("lc") else { continue }
      for target in [1, 1024, 5000, 60_000, plain.frameCount - 1] {
        try decoder.seek(toFrame: target)
        #expect(try Sound(decoding: decoder) == plain[target..<plain.frameCount], "at \(target)")
      }
    }
  }

  @Test("framing reports the blocks' samples and where the sound begins", arguments: [1, 2, 3, 4])
  func framing(count: Int) throws {
    let whole = try ADTSFraming.frames(of: readBytes(Fixtures.path("aac-lc-44k.aac"))).count
    for hasChecksum in [false, true] {
      let stream = try stream("aac-lc-44k.aac", blocks: count, hasChecksum: hasChecksum)
      let (frames, skipped) = ADTSFraming.scan(stream)
      #expect(skipped == 0 && frames.count == (whole + count - 1) / count)
      #expect(frames.dropLast().allSatisfy { $0.samples == 1024 * count })
      #expect(frames.dropLast().allSatisfy { $0.headerLength == (hasChecksum ? 7 + 2 * count : 7) })
    }
  }

  @Test(
    "a damaged block is silence of its length, and so is the rest of its frame; later blocks keep their position"
  )
  func damaged() throws {
    var stream = try stream("aac-lc-44k.aac", blocks: 3, hasChecksum: true)
    let plain = try Sound(file: Fixtures.path("aac-lc-44k.aac"))
    let hit = ADTSFraming.frames(of: stream)[10]
    for index in (hit.offset + hit.headerLength)..<(hit.offset + hit.length) { stream[index] = 0xFF }
    let sound = try Sound(file: folder.write(stream, to: "damaged.aac"))
    #expect(sound.frameCount == plain.frameCount)
    #expect(sound[0..<(30 * 1024)] == plain[0..<(30 * 1024)])
    #expect(sound[(36 * 1024)..<plain.frameCount] == plain[(36 * 1024)..<plain.frameCount])
  }
}
