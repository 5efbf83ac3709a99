internal import AudioCore
internal import EventLoop

/// The end of a file of Ogg.
enum OggEnd {
  /// The last page of the logical stream with which the file begins.
  case whole
  /// A page of another logical stream, or a position that no stream can have, which libsndfile believes.
  case otherStream
  /// A page that is not the last of its stream, as in a recording of a station: libsndfile knows no length
  /// then.
  case open
  /// A part of a page.
  case cut

  /// Nil for a file that does not begin with Ogg.
  init?(of file: borrowing FileDescriptor) {
    guard let first = file.bytes(at: 0, count: 512).withUnsafeBytes({ OggPage($0) }) else { return nil }
    let length = min(file.size, OggPage.longest)
    let tail = file.bytes(at: file.size - length, count: length)
    var index = tail.count
    while let found = tail[..<index].lastIndex(of: UInt8(ascii: "O")) {
      index = found
      guard tail[found...].starts(with: "OggS".utf8.prefix(tail.count - found)) else { continue }
      guard let page = tail[found...].withUnsafeBytes({ OggPage($0) }) else {
        // The beginning of a header; a single letter at the end is not enough.
        guard tail.count - found >= 4, tail.count - found < OggPage.headLength + 255 else { continue }
        self = .cut
        return
      }
      if found + page.length > tail.count {
        self = .cut
      } else if page.serial != first.serial || page.granule < 0 && page.endsPacket {
        self = .otherStream
      } else {
        self = page.isLast ? .whole : .open
      }
      return
    }
    self = .open
  }
}

/// A file of Ogg in which several logical streams follow each other: they sound one after the other, without
/// a gap. Also a file without an end.
///
/// The pages are visited once when it is opened, by their headers alone. `seek` is exact to a frame. Memory: 16 bytes for
/// each 64 KiB of the file, and the headers.
final class OggChainDecoder: Decoder {
  private(set) var format: AudioFormat
  let frameCount: Int?
  /// The error of a file that ends inside a page.
  let shortfall: AudioError?

  private let file: OggFile
  private let links: [OggLink]
  private let path: String
  private var current = 0
  private var decoder: OggStreamDecoder
  /// The position by granule from which the decoder's sound is wanted; nil when it is all wanted.
  private var target: Int?

  /// - Parameter end: the end of the file.
  /// - Throws: `audio.unreadable` when there is no sound in it, `audio.unsupported`.
  init(_ file: consuming FileDescriptor, path: String, _ end: OggEnd) throws {
    let size = file.size
    self.file = OggFile(file)
    self.path = path
    links = self.file.links()
    guard let first = links.first else {
      throw AudioError.unreadable(path, found: "Ogg without sound", atByte: 0)
    }
    decoder = try OggStreamDecoder(
      OggFilePages(self.file, first, from: first.start), headers: first.headerBytes)
    format = decoder.format
    let rate = Double(first.headers.sampleRate)
    frameCount = links.reduce(0) { sum, link in
      sum
        + (link.headers.sampleRate == first.headers.sampleRate
          ? link.frames : Int(Double(link.frames) / Double(link.headers.sampleRate) * rate))
    }
    shortfall =
      end == .cut
      ? .cutShort(path, frames: frameCount ?? 0, sampleRate: first.headers.sampleRate, size: size) : nil
  }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while true {
      let count = try decoder.read(into: buffer)
      guard count > 0 else {
        guard current + 1 < links.count else { return 0 }
        try begin(current + 1, from: links[current + 1].start)
        continue
      }
      format = decoder.format
      guard let target, let begin = decoder.begin else { return count }
      // The position of the first of these frames.
      let position = begin + decoder.delivered - count
      let early = min(count, max(0, target - position))
      if early < count { self.target = nil }
      guard early > 0 else { return count }
      guard early < count else { continue }
      let samples = early * format.channels..<count * format.channels
      _ = buffer.update(fromContentsOf: Array(buffer[samples]))
      return count - early
    }
  }

  private func begin(_ index: Int, from offset: Int) throws {
    let link = links[index]
    decoder = try OggStreamDecoder(OggFilePages(file, link, from: offset), headers: link.headerBytes)
    (current, target) = (index, nil)
  }

  func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? 0 else {
      throw AudioError.outsideSource(path, frame: frame, count: frameCount)
    }
    let rate = links[0].headers.sampleRate
    var rest = frame
    for (index, link) in links.enumerated() {
      let isLike = link.headers.sampleRate == rate
      let frames =
        isLike ? link.frames : Int(Double(link.frames) / Double(link.headers.sampleRate) * Double(rate))
      if rest < frames || index == links.count - 1 {
        let inLink = isLike ? rest : Int(Double(rest) * Double(link.headers.sampleRate) / Double(rate))
        return try move(to: inLink, in: index)
      }
      rest -= frames
    }
  }

  private func move(to frame: Int, in index: Int) throws {
    let link = links[index]
    let granule = link.base + frame
    // Decoders need some sound before the target, 80 ms in Opus (RFC 7845 §4.6).
    let mark = link.marks.last { $0.granule <= granule - 8192 }
    try begin(index, from: mark?.offset ?? link.start)
    target = granule
  }
}

/// A logical stream in a file.
struct OggLink {
  let headers: OggHeaders
  let headerBytes: [UInt8]
  let serial: UInt32
  /// The offset of the first page of sound, and of the end of the last page.
  let start: Int
  var end: Int
  /// The granule position of the first frame that is heard, and the number of those that are.
  let base: Int
  var frames = 0
  /// The offsets of pages with the granule positions at their beginnings.
  var marks: [(offset: Int, granule: Int)] = []
}

/// The pages of a file.
final class OggFile {
  private let file: FileDescriptor
  private static let markStep = 64 * 1024
  /// The limit of pages of headers that are read in full.
  private static let longestHeaders = 17 << 20

  init(_ file: consuming FileDescriptor) { self.file = file }

  /// Returns the page at `offset`, or the next one after damage; nil at the end.
  func page(at offset: Int) -> (page: OggPage, offset: Int)? {
    var offset = offset
    while offset < file.size {
      let head = file.bytes(at: offset, count: 27 + 255)
      if let page = head.withUnsafeBytes({ OggPage($0) }) {
        return offset + page.length <= file.size ? (page, offset) : nil
      }
      let piece = file.bytes(at: offset + 1, count: 4096)
      offset += 1 + (piece.firstIndex(of: UInt8(ascii: "O")) ?? max(1, piece.count))
    }
    return nil
  }

  /// Returns the bytes of a page; nil when it is damaged.
  func bytes(of page: OggPage, at offset: Int) -> [UInt8]? {
    var bytes = file.bytes(at: offset, count: page.length)
    return bytes.withUnsafeMutableBufferPointer { OggPage.seek($0) } == page.length ? bytes : nil
  }

  /// Returns the logical streams of sound, in order.
  func links() -> [OggLink] {
    var (links, offset) = ([OggLink](), 0)
    var framing: OggFraming? = OggFraming()
    var (headerBytes, last) = (0, Int?.none)
    func finish() {
      guard let end = last, !links.isEmpty else { return }
      links[links.count - 1].frames = max(0, end - links[links.count - 1].base)
      last = nil
    }
    while let (page, found) = page(at: offset) {
      offset = found + page.length
      if page.isFirst, framing == nil {
        finish()
        (framing, headerBytes) = (OggFraming(), 0)
      }
      guard framing != nil else {
        let index = links.count - 1
        guard index >= 0, page.serial == links[index].serial else { continue }
        links[index].end = offset
        if page.granule >= 0 {
          if let granule = last, found - (links[index].marks.last?.offset ?? 0) >= Self.markStep {
            links[index].marks.append((found, granule))
          }
          last = page.granule
        }
        continue
      }
      headerBytes += page.length
      guard headerBytes < Self.longestHeaders, let bytes = bytes(of: page, at: found) else { continue }
      bytes.withUnsafeBytes { framing?.feed($0) }
      guard case .headers(let headers)? = framing?.next() else { continue }
      var clock = OggClock(headers)
      let effect = bytes.withUnsafeBytes { clock.advance(page, $0) }
      // Positions of a stream that was cut from another one begin later.
      let start = clock.isWhole ? headers.preSkip : max(0, page.granule - effect.decoded)
      let serial = framing?.serial ?? page.serial
      links.append(
        OggLink(
          headers: headers, headerBytes: headers.pages(serial: serial).bytes, serial: serial, start: found,
          end: offset, base: start))
      last = page.granule >= 0 ? page.granule : nil
      framing = nil
    }
    finish()
    return links.filter { $0.frames > 0 }
  }
}

/// The pages of a logical stream, from some page on.
final class OggFilePages: FrameSource {
  private let file: OggFile
  private let link: OggLink
  private var offset: Int

  init(_ file: OggFile, _ link: OggLink, from offset: Int) {
    (self.file, self.link, self.offset) = (file, link, offset)
  }

  func nextFrame() -> [UInt8]? {
    while offset < link.end, let (page, found) = file.page(at: offset) {
      offset = found + page.length
      if page.serial == link.serial, let bytes = file.bytes(of: page, at: found) { return bytes }
    }
    return nil
  }
}
