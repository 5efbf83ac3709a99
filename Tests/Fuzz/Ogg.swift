import AudioCore
@testable import Codecs

/// libFuzzer's entry: pages of Ogg, as a station sends them. The checksums of pages are set here, which no mutation
/// would find. The first byte divides the bytes.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 1 else { return 0 }
  var input = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
  if start[0] & 1 == 0 { seal(&input) }
  let piece = Int(start[0] >> 1) * 7 + 1
  let found = pages(input, piece: input.count)
  require(pages(input, piece: piece) == found, "what is found does not depend on how the bytes are cut")
  write(found)
  decode(found)
  return 0
}

/// Sets the checksums of what looks like pages.
private func seal(_ bytes: inout [UInt8]) {
  var index = 0
  while index + OggPage.headLength <= bytes.count {
    guard let page = bytes[index...].withUnsafeBytes({ OggPage($0) }), index + page.length <= bytes.count
    else {
      index += 1
      continue
    }
    let range = index..<(index + page.length)
    bytes.withUnsafeMutableBufferPointer {
      OggPage.seal(UnsafeMutableBufferPointer(rebasing: $0[range]))
    }
    index = range.upperBound
  }
}

private struct Found: Equatable {
  /// The headers of each logical stream, and its pages.
  var streams: [(headers: OggHeaders, pages: [[UInt8]])] = []
  var samples = 0
  var refusal: String?

  static func == (one: Found, other: Found) -> Bool {
    one.samples == other.samples && one.refusal == other.refusal
      && one.streams.elementsEqual(other.streams) { $0.headers == $1.headers && $0.pages == $1.pages }
  }
}

private func pages(_ input: [UInt8], piece size: Int) -> Found {
  var (framing, found, end) = (OggFraming(), Found(), 0)
  func drain() {
    while let item = framing.next() {
      require(found.refusal == nil, "nothing follows a refusal")
      switch item {
      case .headers(let headers): found.streams.append((headers, []))
      case .page(let page):
        require(page.offset >= end && page.length > 0, "pages don't overlap")
        end = page.offset + page.length
        require(end <= input.count, "pages lie in the stream")
        require(page.samples >= 0 && page.samples <= 255 * 65_536, "pages last some time")
        require(page.end.map { $0 >= 0 } ?? true, "positions are positions")
        found.samples += page.samples
        let bytes = framing.withBytes(at: page.offset, count: page.length) { [UInt8]($0) }
        require(bytes.map { $0 == Array(input[page.offset..<end]) } == true, "pages have their bytes")
        if let bytes, let last = found.streams.indices.last { found.streams[last].pages.append(bytes) }
      case .unusable(let words):
        require(!words.isEmpty && words.utf8.count < 400, "what was found is said in a few words")
        found.refusal = words
      }
    }
    require(framing.pendingBytes <= OggPage.longest + size, "no more is kept than a page")
  }
  inPieces(input, of: size) { bytes in
    framing.feed(bytes)
    drain()
  }
  framing.end()
  drain()
  return found
}

/// A recording of the pages is a stream that has the same sound.
private func write(_ found: Found) {
  for (headers, pages) in found.streams {
    var writer = OggWriter(headers, serial: 9)
    var file: [UInt8] = []
    for (number, page) in pages.enumerated() {
      // The end of a recording lies within the last page.
      let limit = number == pages.count - 1 ? Int(page.last ?? 0) * 64 : .max
      file += page.withUnsafeBytes { writer.add($0, keeping: limit) }
    }
    guard !file.isEmpty else { continue }
    let length = min(file.count, 65_536)
    if let mark = OggFileEnd.mark(Array(file.suffix(length)), at: file.count - length) {
      require(mark.offset + mark.bytes.count <= file.count, "marks lie in the file")
      file.replaceSubrange(mark.offset..<(mark.offset + mark.bytes.count), with: mark.bytes)
    }
    require(writer.samples >= 0 && writer.bytes <= file.count, "recordings have a length")
    require(OggFraming.endOfLastPage(file) == file.count, "recordings are of whole pages")
  }
}

private final class Pages: FrameSource {
  private var rest: ArraySlice<[UInt8]>

  init(_ pages: [[UInt8]]) { rest = pages[...] }

  func nextFrame() -> [UInt8]? { rest.popFirst() }
}

private func decode(_ found: Found) {
  for (headers, pages) in found.streams {
    guard let decoder = try? OggStreamDecoder(Pages(pages), headers: headers.pages(serial: 1).bytes) else {
      continue
    }
    var samples = [Float](repeating: 0, count: 65_536)
    while let count = try? samples.withUnsafeMutableBufferPointer({ try decoder.read(into: $0) }), count > 0 {
      require(count * decoder.format.channels <= samples.count, "no more is read than there is room for")
    }
  }
}
