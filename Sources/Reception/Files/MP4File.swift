internal import Codecs
internal import StreamCore

/// Parses an MP4 file (M4A) as it comes: `moov` at any position, then frame after frame of AAC, each returned
/// as ADTS.
///
/// An `mdat` before `moov` is skipped by a jump. Gapless: sound that the file declares inaudible has times
/// outside of the audible range.
struct MP4File: FileParser {
  private enum State {
    /// The parser is between boxes.
    case boxes
    /// The parser is in `moov`, which has `length` bytes.
    case moov(length: Int)
    case frames(MP4Track)
  }

  private let size: Int?
  private var state = State.boxes
  /// The bytes fed and not yet parsed, from offset `position` of the file on.
  private var bytes: [UInt8] = []
  private var position = 0
  private var boxCount = 0
  private var found: [FileItem] = []
  private var hasEnded = false
  /// The number of the next frame, and the position of the one before.
  private var frame = 0
  private var last: MP4Track.Location?

  /// The limit in bytes of `moov`: 20 days of sound.
  private static let longestHeader = 16 << 20

  init(size: Int?) { self.size = size }

  let preroll = 12

  mutating func feed(_ new: UnsafeRawBufferPointer) { bytes.append(contentsOf: new) }
  mutating func end() { hasEnded = true }

  mutating func next() -> FileItem? {
    while found.isEmpty {
      let isReady =
        switch state {
        case .boxes: readBox()
        case .moov(let length): readMoov(length)
        case .frames(let track): readFrame(track)
        }
      guard isReady else {
        guard hasEnded else { return nil }
        if case .frames = state { return .end }
        return .unusable(found: "an MP4 file that ends before its description", isUnsupported: false)
      }
    }
    return found.removeFirst()
  }

  private mutating func refuse(_ found: String, isUnsupported: Bool = false) -> Bool {
    self.found = [.unusable(found: found, isUnsupported: isUnsupported)]
    return true
  }

  /// Moves to an offset, by skipping buffered bytes or by a jump to others.
  private mutating func go(to offset: Int) {
    if offset >= position, offset <= position + bytes.count {
      bytes.removeFirst(offset - position)
    } else {
      (bytes, hasEnded) = ([], false)
      found.append(.jump(to: offset))
    }
    position = offset
  }

  // MARK: Boxes

  /// Parses the next box.
  /// - Returns: `true` if it made progress; otherwise more bytes are needed.
  private mutating func readBox() -> Bool {
    func number(_ index: Int, _ count: Int) -> UInt64 {
      bytes[index..<(index + count)].reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard bytes.count >= 8 else { return false }
    let (short, kind) = (number(0, 4), Array(bytes[4..<8]))
    let header = short == 1 ? 16 : 8
    guard bytes.count >= header else { return false }
    let end = size ?? FileIdentity.longest
    let declared = short == 1 ? number(8, 8) : short
    guard let length = short == 0 ? end - position : Int(exactly: declared), length >= header,
      length <= end - position
    else { return refuse("an MP4 box of an impossible size") }
    boxCount += 1
    guard boxCount < 4096 else { return refuse("an MP4 file of more than 4096 boxes") }
    if kind.elementsEqual("moov".utf8) {
      guard length <= Self.longestHeader else { return refuse("a moov box of \(length) bytes") }
      go(to: position + header)
      state = .moov(length: length - header)
    } else {
      guard length < end - position else { return refuse("an MP4 file without a moov box") }
      go(to: position + length)
    }
    return true
  }

  private mutating func readMoov(_ length: Int) -> Bool {
    guard bytes.count >= length else { return false }
    do throws(MP4Obstacle) {
      let track = try MP4Track(moov: Array(bytes[..<length]), offset: position, fileSize: size ?? .max / 2)
      guard track.count > 0 else { return refuse("an MP4 file without frames of sound") }
      state = .frames(track)
      go(to: position + length)
      let format = StreamFormat(codec: .aac, sampleRate: track.sampleRate, channels: track.channels)
      found += [.format(format), .begins(at: .zero - leadIn(track))]
      return true
    } catch { return refuse(error.found, isUnsupported: error.isUnsupported) }
  }

  // MARK: Frames

  /// Parses the next frame.
  /// - Returns: `true` if it made progress; otherwise more bytes are needed.
  private mutating func readFrame(_ track: MP4Track) -> Bool {
    guard let location = track.location(of: frame, after: last), location.offset >= 0,
      location.offset < size ?? FileIdentity.longest
    else {
      found.append(.end)
      return true
    }
    if location.offset < position || location.offset > position + bytes.count { last = nil }
    let isWhole = location.size <= MP4Track.longestFrame
    let length = isWhole ? location.size : 0
    if location.offset != position {
      go(to: location.offset)
      if !found.isEmpty { return true }
    }
    guard bytes.count >= length else { return false }
    let adts = track.adts(bytes[..<length])
    let format = StreamFormat(codec: .aac, sampleRate: track.sampleRate, channels: track.channels)
    found.append(
      .frame(
        StreamFrame(
          offset: position, length: adts.count, hash: 0, format: format, samples: track.samplesPerFrame),
        adts))
    bytes.removeFirst(length)
    position += length
    last = location
    frame += 1
    return true
  }

  private func leadIn(_ track: MP4Track) -> StreamTime { StreamTime(seconds: track.heard.lowerBound) }

  // MARK: Times

  var duration: Double? {
    guard case .frames(let track) = state else { return nil }
    return track.heard.upperBound - track.heard.lowerBound
  }
  var soundEnd: StreamTime? { duration.map { StreamTime(seconds: $0) } }

  mutating func seek(to time: StreamTime) -> Int? {
    guard case .frames(let track) = state else { return nil }
    let length = StreamTime(samples: track.samplesPerFrame, sampleRate: track.sampleRate)
    let wanted = (time + leadIn(track)).ticks / max(1, length.ticks) - preroll
    let first = max(0, min(wanted, track.count - 1))
    guard let location = track.location(of: first),
      (0..<FileIdentity.longest).contains(location.offset)
    else { return nil }
    (bytes, position, hasEnded, frame, last) = ([], location.offset, false, first, nil)
    let start = StreamTime(samples: first * track.samplesPerFrame, sampleRate: track.sampleRate)
    found = [.begins(at: start - leadIn(track))]
    return location.offset
  }
}
