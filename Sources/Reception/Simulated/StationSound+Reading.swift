public import EventLoop
public import StreamCore

extension StationSound {
  /// The limit of a file in bytes.
  private static let sizeLimit = 64 << 20

  /// Reads the file at `path`: MP3 and its older layers, AAC in ADTS, Ogg, or an HLS list.
  /// - Throws: `stream.not_found`, `stream.unsupported`, `stream.content`, each with the path.
  public convenience init(file path: String) throws(StreamError) {
    try self.init(try Self.read(path), of: path)
  }

  /// Reads a file's bytes.
  /// - Parameter name: the path, in messages and for the segments of a list.
  /// - Throws: as `init(file:)`.
  public convenience init(_ file: [UInt8], of name: String) throws(StreamError) {
    var frames: [StreamFrame] = []
    var bytes: [UInt8] = []
    var (times, places) = ([StreamTime.zero], [0])
    var titles: [(number: Int, title: ICYMetadata)] = []
    var formats: [(number: Int, format: StreamFormat)] = []
    var window: Window?
    func add(_ frame: StreamFrame, _ data: some Collection<UInt8>, _ title: ICYMetadata?) {
      if formats.last?.format != frame.format { formats.append((frames.count, frame.format)) }
      if let title { titles.append((frames.count, title)) }
      frames.append(frame)
      bytes += data
      times.append((times.last ?? .zero) + frame.duration)
      places.append(bytes.count)
    }
    if file.starts(with: "#EXTM3U".utf8), Playlist.isHLS(file) {
      let segments = try SegmentFiles(list: file, path: name, read: Self.read)
      for item in try segments.frames() { add(item.frame, item.bytes, item.title) }
      window = segments.window
    } else {
      try Self.parse(file, of: name) { frame, data in
        add(frame, data, frame.isHeaders ? data.withUnsafeBytes { ICYMetadata(headers: $0) } : nil)
      }
    }
    guard let time = times.last, time > .zero else {
      throw StreamError(.content, "there is no sound in \(name)", hint: Self.hint)
    }
    self.init(
      frames: frames, times: times, places: places, bytes: bytes, titles: titles, formats: formats,
      window: window)
  }

  /// Returns `true` if the file at `path` is an HLS list; `false` also if it can't be read.
  public static func isList(file path: String) -> Bool {
    guard let file = try? read(path) else { return false }
    return file.starts(with: "#EXTM3U".utf8) && Playlist.isHLS(file)
  }

  private static let hint = "give it an MP3 file, AAC in ADTS, Ogg, or a list of HLS"

  /// Parses a file that is not a list.
  private static func parse(
    _ file: [UInt8], of name: String, _ add: (StreamFrame, [UInt8]) -> Void
  ) throws(StreamError) {
    var parser: any FileParser = FramedFile(contentType: nil, size: file.count)
    // Without a size it requests no other part of the file.
    if file.starts(with: "OggS".utf8) { parser = PagedFile(size: nil) }
    let pieceSize = 1 << 16
    for start in stride(from: 0, through: file.count, by: pieceSize) {
      let piece = file[start..<min(file.count, start + pieceSize)]
      piece.withUnsafeBytes { parser.feed($0) }
      if start + pieceSize > file.count { parser.end() }
      while let item = parser.next(), item != .end {
        switch item {
        case .frame(let frame, let data): add(frame, Array(data))
        case .unusable(let found, _):
          throw StreamError(
            .unsupported, "a simulated station can't send \(name): found \(found)", hint: Self.hint)
        case .format, .begins, .jump, .end: break
        }
      }
    }
  }

  private static func read(_ path: String) throws(StreamError) -> [UInt8] {
    do { return try WholeFile.read(path, atMost: sizeLimit) } catch {
      throw StreamError(
        .notFound, "can't read \(path): \(error.reason)", hint: error.hint,
        facts: [.init("path", .string(path))])
    }
  }
}
