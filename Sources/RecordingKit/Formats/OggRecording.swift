internal import Codecs
internal import EventLoop
internal import StreamCore

/// Reads and completes recordings in Ogg.
enum OggRecording {
  /// Walks all pages of a file from an offset on, at which a stream begins.
  /// - Returns: nil if it is not Ogg with a supported codec.
  /// - Throws: `record.write` if it can't be read.
  static func walk(
    _ file: Int32, _ path: String, from: Int = 0, length: Int
  ) throws(RecordError) -> RecordedFrames.Walk? {
    let magic = try FileBytes.read(file, path, at: from, count: ContentSniffer.magicLength)
    guard ContentSniffer.container(magic[...]) == .ogg else { return nil }
    var (walk, framing, position) = (RecordedFrames.Walk(), OggFraming(offset: from), from)
    walk.length = length
    var (format, time) = (StreamFormat?.none, StreamTime.zero)
    while true {
      let bytes = try FileBytes.read(
        file, path, at: position, count: min(RecordedFrames.piece, length - position))
      position += bytes.count
      if bytes.isEmpty { framing.end() } else { bytes.withUnsafeBytes { framing.feed($0) } }
      while let item = framing.next() {
        switch item {
        case .unusable: return walk.frames > 0 ? walk : nil
        case .headers(let headers):
          let new = StreamFormat(
            codec: headers.codec, sampleRate: headers.sampleRate, channels: headers.channels)
          if walk.format == nil { walk.format = new } else if new != format { walk.formatChanges += 1 }
          format = new
        case .page(let page):
          walk.frames += 1
          walk.samples += page.samples
          walk.audioBytes += page.length
          walk.endOfLastFrame = page.offset + page.length
          time += StreamTime(samples: page.samples, sampleRate: format?.sampleRate ?? 0)
        }
      }
      if bytes.isEmpty { break }
    }
    walk.junkBytes = framing.skippedBytes
    walk.tagLength = max(0, length - from - walk.audioBytes - walk.junkBytes)
    walk.seconds = time.seconds
    if walk.frames == 0 { walk.endOfLastFrame = length - walk.junkBytes }
    return walk
  }

  /// Returns the end of the last whole page of a file, reading only the end of the file.
  static func lastPageEnd(_ file: Int32, _ path: String, length: Int) throws(RecordError) -> Int {
    var window = 2 * RecordedFrames.piece
    while true {
      let from = max(0, length - window)
      let end = OggFraming.endOfLastPage(try FileBytes.read(file, path, at: from, count: length - from))
      if let end { return from + end }
      if from == 0 { return 0 }
      window *= 16
    }
  }

  /// Marks the last page of a whole file of one logical stream, and states its length and the MD5 of its
  /// sound if the headers have fields for them.
  /// - Parameters:
  ///   - samples: the length in PCM frames.
  ///   - sum: the MD5; nil if it is not known.
  static func complete(_ path: String, samples: Int, sum: [UInt8]?) throws(RecordError) {
    try FileBytes.withFile(path, writable: true) { (file, length) throws(RecordError) in
      try complete(file, path, length: length, (start: 0, samples, sum))
    }
  }

  private static func complete(
    _ file: Int32, _ path: String, length: Int, _ last: (start: Int, samples: Int, sum: [UInt8]?)
  ) throws(RecordError) {
    let from = max(0, length - OggFraming.longestPage)
    let tail = try FileBytes.read(file, path, at: from, count: length - from)
    let start = try FileBytes.read(file, path, at: last.start, count: 2048)
    if let patch = OggFileEnd.description(samples: last.samples, sum: last.sum, in: start) {
      try FileBytes.write(patch.bytes[...], file, path, at: last.start + patch.offset)
    }
    if let patch = OggFileEnd.mark(tail, at: from) {
      try FileBytes.write(patch.bytes[...], file, path, at: patch.offset)
    }
  }

  /// The limit in bytes of a logical stream that is decoded for its MD5 after its end was cut off: some
  /// seconds of work.
  private static let longestSum = 256 << 20

  /// Completes a file whose end was cut off: marks its last page, and restates the length and the MD5 of its
  /// last logical stream. A stream longer than 256 MiB, or with damaged or missing packets, has no MD5.
  static func restate(_ path: String) throws(RecordError) {
    try FileBytes.withFile(path, writable: true) { (file, length) throws(RecordError) in
      let magic = try FileBytes.read(file, path, at: 0, count: ContentSniffer.magicLength)
      guard ContentSniffer.container(magic[...]) == .ogg else { return }
      var (framing, position) = (OggFraming(), 0)
      var last: (start: Int, samples: Int, sum: FLACSum)?
      while position < length {
        let bytes = try FileBytes.read(
          file, path, at: position, count: min(RecordedFrames.piece, length - position))
        if bytes.isEmpty { break }
        position += bytes.count
        bytes.withUnsafeBytes { framing.feed($0) }
        while let item = framing.next() {
          switch item {
          case .unusable: return
          case .headers(let headers):
            last = (framing.start, 0, FLACSum(headers))
            if length - framing.start > longestSum { last?.sum.discard() }
          case .page(let page):
            last?.samples += page.samples
            _ = framing.withBytes(at: page.offset, count: page.length) { last?.sum.add(page: $0) }
          }
        }
      }
      guard var last else { return }
      try complete(file, path, length: length, (last.start, last.samples, last.sum.finish()))
    }
  }
}
