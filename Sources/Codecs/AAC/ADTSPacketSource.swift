internal import AudioCore

/// The frames of an ADTS file. Memory: the framing's, and 16 bytes for every 64 frames once they are counted.
final class ADTSPacketSource: AACPacketSource {
  let path: String

  private let file: FileDescriptor
  private let firstFrame: Int
  private var framing: ADTSFraming
  /// The byte of the file that is read next.
  private var position: Int
  private var hasEnded = false
  /// The first frame, and every 64th after it, as far as they were counted.
  private var marks: [Mark] = []
  /// The number of samples of the core in all frames, once they are counted.
  private var total: Int?
  /// The first frame after a seek, which was found already.
  private var waiting: EncodedFrame?

  private struct Mark {
    let offset: Int
    let sample: Int
  }
  private static let framesPerMark = 64
  private static let chunk = 16_384

  init(_ file: consuming FileDescriptor, path: String, firstFrame: Int) {
    self.file = file
    self.path = path
    self.firstFrame = firstFrame
    framing = ADTSFraming(offset: firstFrame)
    position = firstFrame
  }

  /// Returns the samples of the core in all frames, from their headers; the first call reads the file.
  func sampleCount() -> Int {
    if let total { return total }
    var framing = ADTSFraming(offset: firstFrame)
    var (position, sample, count) = (firstFrame, 0, 0)
    while let frame = advance(&framing, &position) {
      if count % Self.framesPerMark == 0 { marks.append(Mark(offset: frame.offset, sample: sample)) }
      sample += frame.samples
      count += 1
    }
    total = sample
    return sample
  }

  func next() throws -> AACPacket? {
    guard let frame = waiting ?? advance(&framing, &position) else { return nil }
    waiting = nil
    let bytes = framing.bytes(of: frame)
    guard let header = ADTSHeader(Array(bytes.prefix(ADTSHeader.size)), at: 0) else { return nil }
    return AACPacket(
      bytes: bytes.dropFirst(header.headerLength), configuration: AACConfiguration(header),
      blocks: header.blocks, checksumLength: header.hasChecksum && header.blocks > 1 ? 2 : 0,
      offset: frame.offset)
  }

  func seek(toSample sample: Int) throws -> Int {
    guard sample > 0, sampleCount() > 0 else {
      restart(at: firstFrame)
      return 0
    }
    var index = (marks.firstIndex { $0.sample > sample } ?? marks.count) - 1
    while index > 0 {
      restart(at: marks[index].offset)
      // A frame before damage is found by a scan from earlier frames, but not by one that begins with
      // it.
      if let first = advance(&framing, &position), first.offset == marks[index].offset {
        return pass(from: first, marks[index].sample, to: sample)
      }
      index -= 1
    }
    restart(at: firstFrame)
    guard let first = advance(&framing, &position) else { return 0 }
    return pass(from: first, 0, to: sample)
  }

  /// Skips frames until the one that holds `sample` is next.
  private func pass(from first: EncodedFrame, _ start: Int, to sample: Int) -> Int {
    var (frame, start) = (first, start)
    while start + frame.samples <= sample, let next = advance(&framing, &position) {
      start += frame.samples
      frame = next
    }
    waiting = frame
    return start
  }

  private func restart(at offset: Int) {
    framing = ADTSFraming(offset: offset)
    position = offset
    waiting = nil
  }

  /// Returns the next frame of a framing, whose input is the file.
  private func advance(_ framing: inout ADTSFraming, _ position: inout Int) -> EncodedFrame? {
    while true {
      if let frame = framing.next() { return frame }
      let bytes = file.bytes(at: position, count: Self.chunk)
      position += bytes.count
      if bytes.isEmpty {
        framing.end()
        return framing.next()
      }
      framing.feed(bytes)
    }
  }
}
