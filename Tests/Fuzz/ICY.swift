@testable import StreamCore

private let encodings: [MetadataEncoding] =
  [.utf8, .latin1, .windows1252]
  + ["koi8-r", "shift_jis", "utf-16", "iso-2022-jp", "big5"].compactMap { MetadataEncoding(name: $0) }

/// libFuzzer's entry: a stream with titles. The first byte is the distance between them, the second the encoding.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 2 else { return 0 }
  let (interval, encoding) = (Int(start[0]), encodings[Int(start[1]) % encodings.count])
  let input = Array(UnsafeBufferPointer(start: start + 2, count: count - 2))
  let whole = deinterleave(input, interval, pieces: input.count)
  require(whole == separate(input, interval), "audio and titles are what the format says")
  require(
    deinterleave(input, interval, pieces: pieceSize(of: input)) == whole,
    "what is found does not depend on how the bytes are cut")
  for block in whole.blocks { check(block.bytes, encoding) }
  check(input, encoding)
  return 0
}

private struct Parts: Equatable {
  var audio: [UInt8] = []
  var blocks: [ICYDeinterleaver.Block] = []
}

private func deinterleave(_ input: [UInt8], _ interval: Int, pieces size: Int) -> Parts {
  var (icy, parts) = (ICYDeinterleaver(interval: interval), Parts())
  inPieces(input, of: size) { bytes in
    var index = 0
    while let part = icy.next(in: bytes, from: &index) {
      switch part {
      case .audio(let range): parts.audio += bytes[range]
      case .metadata(let block): parts.blocks.append(block)
      }
      require(icy.audioPosition == parts.audio.count, "the position counts audio alone")
    }
    require(index == bytes.count, "all bytes are looked at")
  }
  return parts
}

/// The same by the format's own words.
private func separate(_ input: [UInt8], _ interval: Int) -> Parts {
  var parts = Parts()
  guard interval > 0 else { return Parts(audio: input) }
  var rest = input[...]
  while !rest.isEmpty {
    parts.audio += rest.prefix(interval)
    rest = rest.dropFirst(interval)
    guard let length = rest.popFirst().map({ Int($0) * 16 }) else { break }
    if length > 0, rest.count >= length {
      parts.blocks.append(.init(bytes: Array(rest.prefix(length)), audioPosition: parts.audio.count))
    }
    rest = rest.dropFirst(length)
  }
  return parts
}

private func check(_ block: [UInt8], _ encoding: MetadataEncoding) {
  let data = ICYMetadata(block, encoding: encoding)
  for text in [data.title, data.url].compactMap(\.self) {
    require(isClean(text), "texts have no control characters")
    require(text.utf8.count <= 4080 * 16, "texts are not longer than a block makes them")
  }
  if block.count <= 4000 {
    require(ICYMetadata(block + [0, 0], encoding: encoding) == data, "zeros behind a block say nothing")
  }
  let title = StreamTitle(data)
  if let artist = title.artist {
    require(artist + " - " + title.withoutArtist == title.text, "a title is its artist and the rest")
  } else {
    require(title.withoutArtist == title.text, "a title without an artist is all of it")
  }
}
