import Codecs
import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("Packet buffer", .waiting, .tags(.stream, .timeShift)) struct PacketBufferTests {
  private static let format = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)

  /// Returns frame number `index` of a synthetic stream: its bytes depend on its number.
  private func frame(_ index: Int, length: Int, samples: Int = 1152) -> (StreamFrame, [UInt8]) {
    let bytes = (0..<length).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0) }
    let hash = bytes.withUnsafeBytes(FrameHash.of)
    return (
      StreamFrame(offset: index * length, length: length, hash: hash, format: Self.format, samples: samples),
      bytes
    )
  }

  @discardableResult
  private func append(
    _ index: Int, to buffer: inout PacketBuffer, length: Int = 418, samples: Int = 1152,
    discontinuity: PacketBuffer.Discontinuity? = nil, keeping kept: PacketBuffer.Cursor? = nil
  ) -> Bool {
    let (frame, bytes) = frame(index, length: length, samples: samples)
    return bytes.withUnsafeBytes {
      buffer.append(frame, $0, discontinuity: discontinuity, keeping: kept)
    }
  }

  private func filled(_ count: Int, blocks: Int, length: Int = 418) -> PacketBuffer {
    var buffer = PacketBuffer(blocks: blocks)
    for index in 0..<count { append(index, to: &buffer, length: length) }
    return buffer
  }

  /// Returns all frames from a cursor on, after a check of their bytes.
  private func read(_ buffer: PacketBuffer, from cursor: PacketBuffer.Cursor) -> [PacketBuffer.Packet] {
    var cursor = cursor
    var packets: [PacketBuffer.Packet] = []
    while let packet = buffer.next(&cursor) {
      let hash = buffer.withBytes(of: packet) { FrameHash.of($0) }
      #expect(hash == packet.frame.hash)
      packets.append(packet)
    }
    return packets
  }

  @Test(
    "passing over a run leaves the buffer as appending each of its frames does",
    arguments: ["mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3"])
  func pass(file: String) throws {
    let sound = try StationSound(file: Fixtures.path(file))
    var random = SeededRandom(seed: 11)
    for blocks in [1, 2, 7] {
      for _ in 0..<3 {
        var (each, passed) = (PacketBuffer(blocks: blocks), PacketBuffer(blocks: blocks))
        var next = Int.random(in: 0..<1000, using: &random)
        for _ in 0..<4 {
          let run = FrameRun(sound: sound, numbers: next..<next + Int.random(in: 0..<2500, using: &random))
          next = run.numbers.upperBound
          for number in run.numbers { _ = sound.withFrame(number) { each.append($0, $1) } }
          let count = passed.pass(run)
          for number in run.numbers.dropFirst(count) { _ = sound.withFrame(number) { passed.append($0, $1) } }
          #expect(each.used == passed.used && each.count == passed.count && each.capacity == passed.capacity)
          #expect(each.start == passed.start && each.end == passed.end && each.duration == passed.duration)
          #expect(read(each, from: each.start) == read(passed, from: passed.start))
          #expect(each.block(at: each.start) == passed.block(at: each.start))
        }
      }
    }
  }

  @Test("returns what was put in, in order") func order() {
    let buffer = filled(100, blocks: 20)
    let packets = read(buffer, from: buffer.start)
    #expect(packets.map(\.frame.offset) == (0..<100).map { $0 * 418 })
    #expect(packets.allSatisfy { $0.missed == 0 && $0.discontinuity == nil })
    #expect(packets.map(\.start) == (0..<100).map { StreamTime(samples: 1152 * $0, sampleRate: 44_100) })
  }

  @Test(
    "a block holds whole frames, and 64 of them at most",
    arguments: [(418, 12), (5120, 1), (2561, 1), (20, 64)])
  func blocks(length: Int, perBlock: Int) {
    var buffer = PacketBuffer(blocks: 10)
    for index in 0..<(10 * perBlock) {
      append(index, to: &buffer, length: length)
      #expect(buffer.used == index / perBlock + 1)
    }
    #expect(buffer.start == read(buffer, from: buffer.start).first?.cursor)
    append(10 * perBlock, to: &buffer, length: length)
    #expect(buffer.used == 10)
    #expect(read(buffer, from: buffer.start).first?.frame.offset == perBlock * length)
  }

  @Test("a frame that is longer than a block spans several, around the end too") func long() {
    var buffer = PacketBuffer(blocks: 5)
    for index in 0..<40 {
      #expect(append(index, to: &buffer, length: index % 3 == 0 ? 8191 : 1000))
      #expect(buffer.used <= 5)
      let packets = read(buffer, from: buffer.start)
      #expect(packets.last?.frame.length == (index % 3 == 0 ? 8191 : 1000))
    }
    #expect(!append(40, to: &buffer, length: 5 * 5120 + 1))
    #expect(append(41, to: &buffer, length: 5 * 5120))
    #expect(read(buffer, from: buffer.start).count == 1)
  }

  @Test("any sequence of lengths keeps the newest frames, in as many blocks as they need") func anyLengths() {
    var random = SeededRandom(seed: 5)
    for _ in 0..<20 {
      let size = Int.random(in: 1...8, using: &random)
      var buffer = PacketBuffer(blocks: size)
      // The first and last block of every frame that should be held, counted without wrapping.
      var model: [(length: Int, first: Int, last: Int)] = []
      var rest = 0
      for index in 0..<150 {
        let length = Int.random(in: 1...(index % 7 == 0 ? min(size * 5120, 15_000) : 1200), using: &random)
        let last = model.last?.last ?? -1
        if length <= rest {
          rest -= length
          model.append((length, last, last))
        } else {
          let blocks = (length + 5119) / 5120
          rest = blocks * 5120 - length
          model.append((length, last + 1, last + blocks))
        }
        while model[model.count - 1].last - model[0].first >= size { model.removeFirst() }
        #expect(append(index, to: &buffer, length: length))
        #expect(buffer.used == model[model.count - 1].last - model[0].first + 1)
      }
      #expect(read(buffer, from: buffer.start).map(\.frame.length) == model.map(\.length))
    }
  }

  @Test("unheard frames are kept when asked for: new frames are refused") func keeps() {
    var buffer = PacketBuffer(blocks: 3)
    let heard = buffer.end
    var accepted = 0
    while accepted < 100, append(accepted, to: &buffer, keeping: heard) { accepted += 1 }
    #expect(accepted == 36)
    #expect(buffer.isFull(keeping: heard, length: 418))
    var cursor = heard
    _ = buffer.next(&cursor)
    #expect(!buffer.isFull(keeping: cursor, length: 418))
    // The first block is evicted as a whole, once no frame of it is kept.
    #expect(!append(36, to: &buffer, keeping: cursor))
    for _ in 0..<12 { _ = buffer.next(&cursor) }
    #expect(append(36, to: &buffer, keeping: cursor))
  }

  @Test("a reader that was overtaken continues with the oldest frame and gets the missed duration")
  func overtaken() {
    var buffer = PacketBuffer(blocks: 2)
    let cursor = buffer.start
    for index in 0..<40 { append(index, to: &buffer) }
    let packets = read(buffer, from: cursor)
    #expect(packets.first?.missed == 24 && packets.first?.frame.offset == 24 * 418)
    #expect(packets.dropFirst().allSatisfy { $0.missed == 0 })
    #expect(buffer.packet(at: cursor)?.missed == 24)
  }

  @Test("a reader at the end gets the next frame when it comes") func live() {
    var buffer = filled(10, blocks: 5)
    var cursor = buffer.end
    #expect(buffer.next(&cursor) == nil && buffer.timeShift(at: cursor) == .zero)
    append(10, to: &buffer)
    #expect(buffer.next(&cursor)?.frame.offset == 10 * 418)
    #expect(buffer.next(&cursor) == nil)
  }

  @Test("seeking moves by whole frames, as far as the buffer goes, and returns the distance") func seeks() {
    let buffer = filled(100, blocks: 20)
    let frame = 1152 / 44_100.0
    var cursor = buffer.end
    let back = buffer.seek(&cursor, by: -1)
    #expect(back <= -1 && back > -1 - frame)
    #expect((buffer.timeShift(at: cursor).seconds + back).magnitude < 1e-9)
    let forward = buffer.seek(&cursor, by: 0.5)
    #expect(forward <= 0.5 && forward > 0.5 - frame)
    let further = buffer.seek(&cursor, by: 60)
    #expect(cursor == buffer.end && (back + forward + further).magnitude < 1e-9)
    let all = buffer.seek(&cursor, by: -.infinity)
    #expect(cursor == buffer.start && (all + 100 * frame).magnitude < 1e-9)
    #expect(buffer.seek(&cursor, by: -1) == 0)
    #expect(buffer.seek(&cursor, by: .nan) == 0)
    var empty = PacketBuffer(blocks: 1).start
    #expect(PacketBuffer(blocks: 1).seek(&empty, by: -5) == 0)
  }

  @Test("reports blocks, seconds, positions and bytes") func figures() {
    var buffer = PacketBuffer()
    #expect(buffer.size == 1200 && buffer.used == 0 && buffer.duration == .zero && buffer.capacity == .zero)
    #expect(buffer.block(at: buffer.start) == nil && buffer.byteOffset(at: buffer.start) == nil)
    for index in 0..<120 { append(index, to: &buffer) }
    #expect(buffer.used == 10)
    #expect(buffer.duration == StreamTime(samples: 120 * 1152, sampleRate: 44_100))
    // Twelve frames a block.
    #expect((buffer.capacity.seconds - 1200 * 12 * 1152 / 44_100.0).magnitude < 0.001)
    var cursor = buffer.start
    for _ in 0..<30 { _ = buffer.next(&cursor) }
    #expect(buffer.block(at: cursor) == 2)
    #expect(buffer.byteOffset(at: cursor) == 30 * 418)
    #expect(buffer.time(at: cursor) == StreamTime(samples: 30 * 1152, sampleRate: 44_100))
    #expect(buffer.timeShift(at: cursor) == StreamTime(samples: 90 * 1152, sampleRate: 44_100))
  }

  @Test("gaps and new formats are marked in front of the frame behind them, while it is held") func marks() {
    var buffer = PacketBuffer(blocks: 4)
    for index in 0..<10 { append(index, to: &buffer) }
    append(10, to: &buffer, discontinuity: .gap(seconds: 3.5))
    append(11, to: &buffer, discontinuity: .format)
    append(12, to: &buffer, discontinuity: .gap(seconds: 7))
    append(13, to: &buffer)
    let marks = read(buffer, from: buffer.start).map(\.discontinuity)
    #expect(
      marks == [PacketBuffer.Discontinuity?](repeating: nil, count: 10) + [
        .gap(seconds: 3.5), .format, .gap(seconds: 7), nil,
      ])
    for index in 14..<60 { append(index, to: &buffer) }
    #expect(read(buffer, from: buffer.start).first?.discontinuity == .gap(seconds: 7))
    append(60, to: &buffer)
    for index in 61..<75 { append(index, to: &buffer) }
    #expect(read(buffer, from: buffer.start).allSatisfy { $0.discontinuity == nil })
  }

  @Test("pieces without frames have the given duration") func pieces() {
    var buffer = PacketBuffer(blocks: 4)
    let bytes = [UInt8](repeating: 7, count: 6000)
    let piece = StreamFrame(offset: 0, length: 6000, hash: 0, format: StreamFormat(codec: .ogg))
    for _ in 0..<2 {
      #expect(bytes.withUnsafeBytes { buffer.append(piece, $0, duration: StreamTime(seconds: 0.25)) })
    }
    #expect(buffer.duration.seconds == 0.5)
    #expect(buffer.packet(at: buffer.start)?.duration.seconds == 0.25)
  }

  @Test("a frame costs 48 bytes besides its own") func entrySize() {
    #expect(MemoryLayout<StreamFrame>.stride == 32)
    #expect(MemoryLayout<PacketBuffer.Entry?>.stride == 48)
  }

  @Test("is empty after all was released, and works on") func removeAll() {
    var buffer = filled(50, blocks: 3)
    let cursor = buffer.end
    buffer.removeAll()
    #expect(buffer.used == 0 && buffer.duration == .zero && buffer.packet(at: cursor) == nil)
    append(50, to: &buffer)
    #expect(buffer.packet(at: cursor)?.frame.offset == 50 * 418 && buffer.used == 1)
  }

  @Test("time is exact at every rate of MPEG audio and AAC") func exactTime() {
    for rate in [
      96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
    ] {
      #expect(StreamTime.ticksPerSecond % rate == 0)
      #expect(StreamTime(samples: rate * 100_000 + 1, sampleRate: rate).seconds > 100_000)
    }
    #expect(StreamTime(samples: 5, sampleRate: 0) == .zero)
  }
}

@Suite("Bit reservoir", .waiting, .tags(.stream, .codecs, .timeShift)) struct BitReservoirTests {
  @Test("behind a join frames are left out until what they need has come") func join() throws {
    for name in ["mp3-cbr128-44k.mp3", "mp3-vbr-v4-44k.mp3", "mp3-mpeg25-32-11k-mono.mp3"] {
      let frames = StreamFramer.frames(of: try readBytes(Fixtures.path(name)))
      for first in stride(from: 5, to: 60, by: 5) {
        var reservoir = BitReservoir()
        let playable = frames[first...].map { reservoir.admits($0) }
        var bytes = 0
        for (frame, isPlayable) in zip(frames[first...], playable) {
          #expect(isPlayable == (frame.mainDataBegin <= bytes))
          bytes += frame.mainDataLength
        }
        let leftOut = playable.prefix { !$0 }.count
        #expect(leftOut <= 8)
        #expect(playable.dropFirst(leftOut).allSatisfy { $0 })
      }
    }
  }

  @Test("frames of other codecs are played at once") func others() throws {
    var reservoir = BitReservoir()
    let frames = StreamFramer.frames(of: try readBytes(Fixtures.path("aac-lc-44k.aac")))
    #expect(frames.allSatisfy { reservoir.admits($0) })
  }
}
