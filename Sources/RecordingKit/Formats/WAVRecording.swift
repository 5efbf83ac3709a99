public import EventLoop
internal import StreamCore

/// Reads and repairs recordings of decoded sound: WAV files.
public struct WAVRecording {
  /// The contents of a WAV file.
  public struct Contents: Sendable, Equatable {
    /// The length in PCM frames.
    public let samples: Int
    /// The sample rate in Hz.
    public let sampleRate: Int
    /// The number of channels.
    public let channels: Int
    /// The offset of the end of the last whole PCM frame.
    public let end: Int
    /// `true` if the header states the actual length or, as for a file from a pipe, no length.
    public let isWhole: Bool
  }

  /// Reads the header, and measures the sound by the length of the file.
  /// - Returns: the contents; nil without a readable header.
  /// - Throws: `record.write` if the file can't be read.
  public static func read(_ path: String) throws(RecordError) -> Contents? {
    try FileBytes.withFile(path) { (file, length) throws(RecordError) in
      try contents(file, path, length)?.contents
    }
  }

  /// Repairs a file that was not closed: writes the actual length into the header, and cuts off an incomplete
  /// frame.
  /// - Returns: the resulting contents; nil, with nothing changed, without a readable header.
  /// - Throws: `record.write`, `record.disk_full`.
  public static func mend(_ path: String) throws(RecordError) -> Contents? {
    try FileBytes.withFile(path, writable: true) { (file, length) throws(RecordError) in
      guard let (found, start) = try contents(file, path, length) else { return nil }
      func number(_ value: Int) -> ArraySlice<UInt8> {
        (0..<4).map { UInt8(truncatingIfNeeded: UInt32(clamping: value) >> (8 * UInt32($0))) }[...]
      }
      if found.end < length { try FileBytes.truncate(file, path, to: found.end) }
      try FileBytes.write(number(found.end - start), file, path, at: start - 4)
      try FileBytes.write(number(found.end - 8), file, path, at: 4)
      return Contents(
        samples: found.samples, sampleRate: found.sampleRate, channels: found.channels, end: found.end,
        isWhole: true)
    }
  }

  private static func contents(
    _ file: Int32, _ path: String, _ length: Int
  ) throws(RecordError) -> (contents: Contents, start: Int)? {
    var reader = WAVFile(size: nil)
    let head = try FileBytes.read(file, path, at: 0, count: min(length, RecordedFrames.piece))
    head.withUnsafeBytes { reader.feed($0) }
    guard case .format(let format) = reader.next(), let data = reader.data, let width = reader.frameLength,
      data.lowerBound <= length
    else { return nil }
    let start = data.lowerBound
    let samples = (length - start) / width
    let end = start + samples * width
    func number(_ offset: Int) -> Int { head[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) } }
    let isWhole =
      end == length && (data.upperBound == end && number(4) == end - 8 || Self.isUnstated(number(start - 4)))
    return (
      Contents(
        samples: samples, sampleRate: format.sampleRate, channels: format.channels, end: end, isWhole: isWhole
      ),
      start
    )
  }

  /// Returns `true` if a length of the samples is one that a program leaves when it writes to a pipe and
  /// can't seek back: about 2^31 or 2^32 bytes.
  private static func isUnstated(_ length: Int) -> Bool {
    length >= 0xFFFF_FFFF - 36 || (0x7FFF_0000...0x8000_0000).contains(length)
  }
}
