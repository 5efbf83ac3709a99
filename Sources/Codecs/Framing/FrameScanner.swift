/// Cuts a stream of bytes into frames, for `ADTSFraming` and `MPEGAudioFraming`.
///
/// A frame is returned once the header after it has arrived, so the frames found do not depend on how the
/// bytes were cut when they were fed. Where a frame is not followed by one that agrees, it is kept unless
/// another sequence of frames starts inside it: then it was cut off. Where bytes of no frame and no tag follow, it is
/// marked, as they may have begun inside it. Sync is found at three headers that
/// agree, each at the position that the one before states; fewer will do at the end. A frame in whose midst a
/// page begins, such as a proxy's in place of the rest, is cut off there. A tag that claims more than `longestTag` ends
/// where frames begin. Holds the last input and up to
/// three frames.
struct FrameScanner<Header: FrameHeader>: Sendable {
  /// A frame and its header.
  struct Found {
    let header: Header
    let frame: EncodedFrame
    /// `true` if a frame, a tag or the end of the input follows.
    let isConfirmed: Bool
  }

  /// The frames at the first byte that is not yet consumed.
  private enum Sequence {
    /// No frame follows the one before, or no frame was found yet.
    case none
    /// The frame before has this header; a tag follows it.
    case after(Header)
    /// The next frame has this header.
    case at(Header)
  }

  /// The number of bytes so far that were neither frame nor tag.
  private(set) var skippedBytes = 0
  /// The number of bytes so far that belonged to tags.
  private(set) var tagBytes = 0

  /// The number of bytes that were fed and not yet consumed.
  var pendingBytes: Int { buffer.count - start }

  private var buffer: [UInt8] = []
  /// The index of the first byte that is not yet consumed.
  private var start = 0
  /// Stream offset of the first byte in `buffer`.
  private var base: Int
  private var sequence = Sequence.none
  /// `true` if a frame or a tag may start exactly at `start`: no unknown bytes precede it.
  private var isBorder = true
  /// The number of bytes of a tag that are still to be skipped.
  private var restOfTag = 0
  /// The number of bytes that may belong to a tag whose length is not believed: frames are searched for in
  /// them.
  private var restOfDoubtfulTag = 0
  private let longestTag: Int
  private var hasEnded = false

  /// Agreeing headers that make a stream.
  private static var needed: Int { 3 }

  /// - Parameters:
  ///   - offset: the stream offset of the first byte that is fed.
  ///   - longestTag: the length in bytes up to which a tag is believed.
  init(offset: Int = 0, longestTag: Int = .max) { (base, self.longestTag) = (offset, longestTag) }

  mutating func feed(_ bytes: some Collection<UInt8>) {
    if start > 0, start >= buffer.count / 2 {
      buffer.removeFirst(start)
      base += start
      start = 0
    }
    buffer.append(contentsOf: bytes)
  }

  mutating func feed(_ bytes: UnsafeRawBufferPointer) { buffer.append(contentsOf: bytes) }

  /// Frees the memory of the bytes that are consumed.
  mutating func compact() {
    guard start > 0 else { return }
    buffer = Array(buffer[start...])
    base += start
    start = 0
  }

  mutating func end() { hasEnded = true }

  /// Returns the bytes of a frame; empty when they are no longer in memory.
  func bytes(of frame: EncodedFrame) -> ArraySlice<UInt8> {
    let first = frame.offset - base
    guard first >= 0, first + frame.length <= buffer.count else { return [] }
    return buffer[first..<(first + frame.length)]
  }

  /// Calls `body` with bytes of the stream, without a copy.
  /// - Returns: `false`, without a call, when they are no longer in memory.
  func withBytes(at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    let first = offset - base
    guard first >= 0, count >= 0, first + count <= buffer.count else { return false }
    buffer.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[first..<(first + count)])) }
    return true
  }

  /// Returns the next frame; nil when more bytes are needed, or none follows.
  mutating func next() -> Found? {
    while passTag() {
      guard start + Header.size <= buffer.count else {
        if hasEnded { skip(to: buffer.count) }
        return nil
      }
      switch sequence {
      case .at(let header):
        guard let length = header.frameLength else {
          sequence = .none
          continue
        }
        switch judge(header, until: start + length) {
        case .whole(let next, let isConfirmed):
          return accept(header, length, before: next, isConfirmed: isConfirmed)
        case .cut(let index): skip(to: index)
        case .undecided: return nil
        }
      case .after(let last):
        sequence = Self.header(buffer, at: start, like: last).map { .at($0) } ?? .none
      case .none:
        switch confirm(at: start, atBorder: isBorder) {
        case .confirmed(let header): sequence = .at(header)
        case .undecided: return nil
        case .refuted: skip(to: nextCandidate(after: start))
        }
      }
    }
    return nil
  }

  // MARK: Steps

  /// Skips a tag at `start`.
  /// - Returns: `true` if the bytes at `start` are ready to be examined.
  private mutating func passTag() -> Bool {
    while true {
      if restOfTag > 0 {
        let passed = min(restOfTag, buffer.count - start)
        restOfTag -= passed
        tagBytes += passed
        start += passed
        if restOfTag > 0 { return false }
      }
      // No tag begins as a header does.
      guard isBorder, start < buffer.count, buffer[start] != 0xFF else { return true }
      switch StreamTag(buffer, at: start, hasEnded: hasEnded) {
      case .none: return true
      case .undecided: return false
      case .length(let length) where length > longestTag:
        restOfDoubtfulTag = length
        skip(to: start + 1)
        return true
      case .length(let length): restOfTag = length
      }
      sequence = .none
    }
  }

  private mutating func accept(
    _ header: Header, _ length: Int, before next: Sequence, isConfirmed: Bool
  ) -> Found {
    let frame = EncodedFrame(
      offset: base + start, length: length, headerLength: header.headerLength, sampleRate: header.sampleRate,
      channels: header.channels, samples: header.samplesPerFrame)
    start += length
    restOfDoubtfulTag = 0
    sequence = next
    isBorder = true
    return Found(header: header, frame: frame, isConfirmed: isConfirmed)
  }

  private mutating func skip(to index: Int) {
    let passed = index - start
    let ofTag = min(passed, restOfDoubtfulTag)
    restOfDoubtfulTag -= ofTag
    tagBytes += ofTag
    skippedBytes += passed - ofTag
    start = index
    sequence = .none
    isBorder = false
  }

  private func nextCandidate(after index: Int) -> Int {
    buffer[(index + 1)...].firstIndex(of: 0xFF) ?? buffer.count
  }

  // MARK: Judgements

  private enum Judgement {
    /// The frame is as long as it states; carries the sequence that follows. Without one, and before the end
    /// of the input, the frame is not known to be whole.
    case whole(Sequence, isConfirmed: Bool)
    /// Other frames or a page begin inside the frame, at this index.
    case cut(at: Int)
    case undecided
  }

  /// Judges whether the frame from `start` to `end`, whose header is right, is whole.
  private func judge(_ header: Header, until end: Int) -> Judgement {
    guard end + Header.size <= buffer.count else {
      guard hasEnded else { return .undecided }
      return end <= buffer.count
        ? .whole(.none, isConfirmed: end == buffer.count) : .cut(at: buffer.count)
    }
    if StreamTag.starts(buffer, at: end) { return .whole(.after(header), isConfirmed: true) }
    if let next = Self.header(buffer, at: end, like: header) { return .whole(.at(next), isConfirmed: true) }
    var index = nextCandidate(after: start)
    while index < end {
      switch confirm(at: index, atBorder: false) {
      case .confirmed: return .cut(at: index)
      case .undecided: return .undecided
      case .refuted: index = nextCandidate(after: index)
      }
    }
    if let page = PageText.start(in: buffer, start + Header.size..<end) { return .cut(at: page) }
    switch confirm(at: end, atBorder: false) {
    case .confirmed: return .whole(.none, isConfirmed: true)
    case .undecided: return .undecided
    case .refuted: return .whole(.none, isConfirmed: false)
    }
  }

  private enum Confirmation {
    case confirmed(Header)
    case refuted
    case undecided
  }

  /// Checks whether a sequence of frames starts at `index`.
  private func confirm(at index: Int, atBorder: Bool) -> Confirmation {
    guard index + Header.size <= buffer.count else { return hasEnded ? .refuted : .undecided }
    guard let header = Header(buffer, at: index) else { return .refuted }
    if let length = header.frameLength { return follow(header, at: index, length, atBorder: atBorder) }
    // A frame of free format extends to a header that could be the next one.
    var distance = header.headerLength + 20
    var attempts = 0
    while distance <= Header.longest, attempts < 16 {
      let next = index + distance
      guard next + Header.size <= buffer.count else { return hasEnded ? .refuted : .undecided }
      guard buffer[next] == 0xFF, let other = Header(buffer, at: next), other.agrees(with: header) else {
        distance += 1
        continue
      }
      let known = header.spanning(distance)
      switch follow(known, at: index, distance, atBorder: false) {
      case .confirmed:
        // Two bytes in the header of AAC, in silence that repeats, are a header of MPEG audio in such free
        // format.
        return distance < header.shortestFrame ? .refuted : .confirmed(known)
      case .undecided: return .undecided
      case .refuted: (distance, attempts) = (distance + 1, attempts + 1)
      }
    }
    return .refuted
  }

  /// Checks whether each frame from `first` on is followed by a header that agrees, at the position that it
  /// states.
  private func follow(_ first: Header, at index: Int, _ length: Int, atBorder: Bool) -> Confirmation {
    var next = index + length
    var last = first
    var agreeing = 1
    while agreeing < Self.needed {
      guard next + Header.size <= buffer.count else {
        if !hasEnded { return .undecided }
        let isWhole = next <= buffer.count
        return agreeing > 1 || (atBorder && isWhole) ? .confirmed(first) : .refuted
      }
      if StreamTag.starts(buffer, at: next) { return .confirmed(first) }
      guard let header = Self.header(buffer, at: next, like: last), let length = header.frameLength else {
        return .refuted
      }
      last = header
      agreeing += 1
      next += length
    }
    return .confirmed(first)
  }

  /// Returns the header at `index` if it continues the sequence of `reference`. Static: a method copies the scanner.
  private static func header(_ buffer: [UInt8], at index: Int, like reference: Header) -> Header? {
    guard let header = Header(buffer, at: index), header.agrees(with: reference) else { return nil }
    return header.following(reference)
  }
}

/// A page or a response of HTTP in the midst of sound, as a proxy sends when its server has gone.
enum PageText {
  /// The beginnings of pages, in lower case.
  private static let beginnings = ["http/1.", "<!doctype", "<html", "<head", "<body", "<?xml"].map {
    Array($0.utf8)
  }

  /// Returns the index in `range` at which a page begins that extends to the end of `bytes`; nil when none
  /// does.
  /// - Parameter range: ends four bytes before the end of `bytes` at least, so that five of a beginning are
  ///   there.
  static func start(in bytes: [UInt8], _ range: Range<Int>) -> Int? {
    // Only text to the end can be a page: most sound is refuted by its last bytes.
    var first = bytes.count
    while first > range.lowerBound, isText(bytes[first - 1]) { first -= 1 }
    guard first < range.upperBound else { return nil }
    return (first..<range.upperBound).first { index in
      beginnings.contains { zip($0, bytes[index...]).allSatisfy { $0 == lowerCase($1) } }
    }
  }

  private static func lowerCase(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  private static func isText(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F && byte < 0xF5 || (0x09...0x0D).contains(byte)
  }
}
