internal import EventLoop

/// The segments of a list of HLS that lie beside it on a disk.
struct SegmentFiles {
  private let media: HLSMedia
  private let path: String

  /// Reads a list.
  /// - Throws: `stream.content`, `stream.unsupported` for a list of lists.
  init(list: [UInt8], path: String) throws(StreamError) {
    guard case .media(let media) = try HLSPlaylist(list, url: path) else {
      throw StreamError(
        .unsupported, "a simulated station can't send \(path): found a list of lists",
        hint: "give it the list of one version")
    }
    (self.media, self.path) = (media, path)
  }

  /// Returns the frames of all segments, with their titles.
  /// - Parameter read: reads a file.
  func frames(read: (String) throws(StreamError) -> [UInt8]) throws(StreamError) -> [HLSFrame] {
    var sound = HLSSound()
    var frames: [HLSFrame] = []
    // Segments that are ranges lie in one file.
    var last: (reference: String, bytes: [UInt8])?
    for segment in media.segments where !segment.isAbsent {
      guard segment.encryption == nil else {
        throw StreamError(
          .unsupported, "a simulated station can't send \(path): found encrypted segments",
          hint: "give it a list of plain ones")
      }
      var initialization: [UInt8]?
      if let map = segment.map { initialization = try part(map.range, of: try read(file(map.reference))) }
      if last?.reference != segment.reference {
        last = (segment.reference, try read(file(segment.reference)))
      }
      let bytes = try part(segment.range, of: last?.bytes ?? [])
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

  private static func feed(
    _ segment: HLSSegment, _ bytes: [UInt8], _ initialization: [UInt8]?, to sound: inout HLSSound,
    isFirst: Bool,
    _ add: (HLSFrame) -> Void
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

  private static func receive(_ item: HLSSound.Item, _ add: (HLSFrame) -> Void) -> Bool {
    if case .frame(let frame, let bytes, let title) = item {
      add(HLSFrame(frame: frame, bytes: Array(bytes), title: title))
    }
    return true
  }

  /// Returns the path of a reference.
  private func file(_ reference: String) -> String {
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
