internal import EventLoop
internal import StreamCore

/// The segments of an HLS list that lie beside it on a disk, plain or encrypted with AES-128; for a master
/// list those of the version for a listener that sets no bit rate.
struct SegmentFiles {
  /// Reads a file by its path.
  typealias Reader = (String) throws(StreamError) -> [UInt8]

  private let media: HLSMedia
  private let path: String
  private let read: Reader

  /// Reads a list, and for a master list that of a version.
  /// - Throws: `stream.content`, `stream.not_found` and the errors of `read`; `stream.unsupported` for a
  ///   master list that lists another master list.
  init(list: [UInt8], path: String, read: @escaping Reader) throws(StreamError) {
    var path = path
    var playlist = try HLSPlaylist(list, url: path)
    if case .master(let master) = playlist {
      let rate = ReceiverOptions().maxBitRate * 1000
      guard let best = master.candidates(limit: rate).first else {
        throw StreamError(.notFound, "the list \(path) has no version that works here")
      }
      path = Self.file(best.reference, of: path)
      playlist = try HLSPlaylist(try read(path), url: path)
    }
    guard case .media(let media) = playlist else {
      throw StreamError(
        .unsupported, "a simulated station can't send \(path): found a list of lists of lists",
        hint: "give it a list of segments, or one of such lists")
    }
    (self.media, self.path, self.read) = (media, path, read)
  }

  /// The list of the segments.
  var window: StationSound.Window {
    var list = media
    // A listener of a station begins near the end of its list, also if the file has an end.
    list.isEnded = false
    let lead = list.segments.suffix(list.end - list.start).reduce(0) { $0 + $1.duration }
    return StationSound.Window(
      length: StreamTime(seconds: list.duration), lead: StreamTime(seconds: lead),
      silenceLimit: HLSMedia.silenceLimit(list.targetDuration))
  }

  /// Returns the frames of all segments, with their titles.
  func frames() throws(StreamError) -> [TitledFrame] {
    var sound = HLSSound()
    var frames: [TitledFrame] = []
    // Segments that are ranges lie in one file.
    var last: (reference: String, bytes: [UInt8])?
    for segment in media.segments where !segment.isAbsent {
      var initialization: [UInt8]?
      if let map = segment.map {
        let bytes = try part(map.range, of: try read(file(map.reference)))
        initialization = try plain(bytes, of: map.reference, map.encryption, segment.sequence)
      }
      if last?.reference != segment.reference {
        last = (segment.reference, try read(file(segment.reference)))
      }
      let bytes = try plain(
        try part(segment.range, of: last?.bytes ?? []), of: segment.reference, segment.encryption,
        segment.sequence)
      do throws(HLSSound.Obstacle) {
        try Self.feed(segment, bytes, initialization, to: &sound, isFirst: frames.isEmpty) {
          frames.append($0)
        }
      } catch {
        throw StreamError(
          .unsupported, "a simulated station can't send \(file(segment.reference)): found \(error.found)",
          hint: "give it segments of AAC or MP3")
      }
    }
    sound.finish { Self.receive($0) { frames.append($0) } }
    return frames
  }

  /// Returns the plain bytes of a resource.
  private func plain(
    _ bytes: [UInt8], of reference: String, _ encryption: HLSEncryption?, _ sequence: Int
  ) throws(StreamError) -> [UInt8] {
    switch encryption {
    case nil: return bytes
    case .foreign(let kind):
      throw StreamError(
        .unsupported, "a simulated station can't send \(path): found segments encrypted with \(kind)",
        hint: "give it a list of plain ones, or with AES-128")
    case .aes128(let keyReference, let vector):
      let key = try read(file(keyReference))
      guard key.count == HLSCipher.keyLength else {
        throw StreamError(
          .content, "the key \(file(keyReference)) has \(key.count) bytes",
          hint: "give it one of \(HLSCipher.keyLength)")
      }
      let cipher = HLSCipher(key: key, vector: vector ?? HLSSections.vector(of: sequence))
      let start = bytes.withUnsafeBytes { cipher.update($0) }
      guard let end = cipher.finish() else {
        throw StreamError(
          .content, "\(file(reference)) is not deciphered by its key \(file(keyReference))",
          hint: "give it the key with which it was encrypted")
      }
      return start + end
    }
  }

  private static func feed(
    _ segment: HLSSegment, _ bytes: [UInt8], _ initialization: [UInt8]?, to sound: inout HLSSound,
    isFirst: Bool,
    _ add: (TitledFrame) -> Void
  ) throws(HLSSound.Obstacle) {
    try sound.begin(
      title: segment.title, initialization: initialization, isContinuous: !isFirst && !segment.isDiscontinuous
    ) { receive($0, add) }
    var obstacle: HLSSound.Obstacle?
    bytes.withUnsafeBytes { bytes in
      do throws(HLSSound.Obstacle) { try sound.consume(bytes) { receive($0, add) } } catch {
        obstacle = error
      }
    }
    if let obstacle { throw obstacle }
    try sound.endSegment { receive($0, add) }
  }

  private static func receive(_ item: HLSSound.Item, _ add: (TitledFrame) -> Void) -> Bool {
    if case .frame(let frame, let bytes, let title) = item {
      add(TitledFrame(frame: frame, bytes: Array(bytes), title: title))
    }
    return true
  }

  /// Returns the path of a reference.
  private func file(_ reference: String) -> String { Self.file(reference, of: path) }

  private static func file(_ reference: String, of path: String) -> String {
    let name = String(reference.prefix { $0 != "?" })
    guard !name.hasPrefix("/"), let slash = path.lastIndex(of: "/") else { return name }
    return path[...slash] + name
  }

  private func part(_ range: Range<Int>?, of bytes: [UInt8]) throws(StreamError) -> [UInt8] {
    guard let range else { return bytes }
    guard range.upperBound <= bytes.count else {
      throw StreamError(.content, "\(path) lists byte \(range.upperBound) of a file with \(bytes.count)")
    }
    return Array(bytes[range])
  }
}
