/// The audible part of the sound: the encoder puts silence at the start and fills up the last frame.
extension MP4Demuxer {
  /// Returns the audible range of `all` PCM frames at `rate`.
  func heard(of all: Int, rate: Int) -> Range<Int> {
    func frames(_ units: Int, _ scale: Int) -> Int {
      Int(min(Double(all), (Double(units) * Double(rate) / Double(scale)).rounded()))
    }
    // The last frame may be declared shorter than it is.
    let end = table.duration > 0 ? frames(table.duration, timescale) : all
    guard let edit else { return 0..<end }
    let scale = edit.scale ?? rate
    let start = min(end, frames(edit.start, scale))
    guard let length = edit.length.map({ frames($0, scale) }) else { return start..<end }
    // Lengths in the movie's units, often ms, are coarser than a frame: a near miss means the end of the
    // track.
    let isEnd = abs(Double(start + length - end)) <= edit.tolerance * Double(rate) + 1
    return start..<(isEnd ? end : min(end, start + length))
  }

  /// Returns the edit list's first part that is not empty. Source: ISO/IEC 14496-12 §8.6.6.
  static func editList(_ track: MP4Bytes, trackScale: Int, movieScale: Int) -> Edit? {
    guard let list = track.box("edts/elst"), let version = list.number(0, 1), let claimed = list.number(4, 4),
      version < 2
    else { return nil }
    let width = version == 1 ? 8 : 4
    let empty = version == 1 ? nil : 0xFFFF_FFFF
    var parts: [(start: Int, length: Int)] = []
    for index in 0..<min(claimed, (list.count - 8) / (2 * width + 4), 64) {
      let location = 8 + index * (2 * width + 4)
      guard let length = list.number(location, width) else { return nil }
      let start = list.number(location + width, width)
      // −1 in 64 bits does not fit into a number, and reads as nil.
      if let start, start != empty { parts.append((start, length)) }
    }
    // Several audible parts are a montage, which only editors make: all of it is heard.
    guard parts.count == 1, let part = parts.first else { return nil }
    guard movieScale > 0, part.length > 0 else {
      return Edit(start: part.start, length: nil, scale: trackScale, tolerance: 0)
    }
    let (product, overflows) = part.length.multipliedReportingOverflow(by: trackScale)
    let length = overflows ? nil : (product + movieScale / 2) / movieScale
    return Edit(start: part.start, length: length, scale: trackScale, tolerance: 1 / Double(movieScale))
  }

  /// Returns the edit in a tag that iTunes writes: numbers in base 16, of which the second counts the frames
  /// at the start, the third those at the end, and the fourth the audible ones.
  static func iTunes(_ moov: MP4Bytes) -> Edit? {
    // "meta" has four bytes before its boxes.
    guard let list = moov.box("udta/meta")?.dropping(4)?.box("ilst") else { return nil }
    for entry in list.boxes() where entry.type == "----" {
      guard let name = entry.content.box("name")?.dropping(4), name.bytes.elementsEqual("iTunSMPB".utf8),
        let data = entry.content.box("data")?.dropping(8), data.count < 1000
      else { continue }
      let words = String(decoding: data.bytes, as: UTF8.self).split(separator: " ").prefix(4)
      let numbers = words.compactMap { Int($0, radix: 16) }
      guard numbers.count == 4, numbers[1] >= 0, numbers[1] < 1 << 31, numbers[3] > 0 else { return nil }
      return Edit(start: numbers[1], length: numbers[3], scale: nil, tolerance: 0)
    }
    return nil
  }
}
