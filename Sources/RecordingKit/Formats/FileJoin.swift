internal import Codecs
public import EventLoop
internal import Glibc
public import StreamCore

/// Appends the frames of a part to an existing recording: the last step of `append`.
///
/// A join that was killed at any moment can be repeated with the same `base`: the bytes before it are never
/// touched, and the part stays until the caller removes it.
public struct FileJoin: ~Copyable {
  /// The number of copied bytes.
  public private(set) var copied = 0

  private let (part, path): (String, String)
  private let (source, target): (Int32, Int32)
  private let base: Int
  /// The copied range of the part, without a leading tag.
  private let range: Range<Int>

  private static let piece = 256 * 1024

  /// Opens both files, and removes the bytes that an earlier attempt appended after `base`.
  /// - Parameters:
  ///   - part: the path of the part.
  ///   - path: the path of the recording that is extended.
  ///   - base: the former length of the recording.
  /// - Throws: `record.write`; also if the recording is shorter than `base`, and so another file.
  public init(part: String, to path: String, base: Int) throws(RecordError) {
    var (source, target): (Int32, Int32) = (-1, -1)
    let range: Range<Int>
    do throws(RecordError) {
      source = try Self.open(part, O_RDONLY)
      target = try Self.open(path, O_RDWR)
      guard try Self.size(target, path) >= base else {
        throw RecordError(
          .write, "\(path.onOneLine) is shorter than it was when the recording ended",
          hint: "the end of it is kept in \(part.onOneLine)", facts: [.init("path", .string(path))])
      }
      let length = try Self.size(source, part)
      let head = try FileBytes.read(source, part, at: 0, count: 10)
      range = min(length, AudioFraming.tagLength(head))..<length
      try FileBytes.truncate(target, path, to: base)
    } catch {
      Self.end(source, target)
      throw error
    }
    (self.part, self.path, self.base, self.range) = (part, path, base, range)
    (self.source, self.target) = (source, target)
  }

  deinit { Self.end(source, target) }

  /// Copies the next quarter of a MiB; the last step returns when everything is on the disk.
  /// - Returns: `true` if everything is copied.
  /// - Throws: `record.disk_full`, `record.write`; the recording is then cut back to `base`.
  public mutating func step() throws(RecordError) -> Bool {
    do throws(RecordError) {
      let start = range.lowerBound + copied
      let bytes = try FileBytes.read(
        source, part, at: start, count: min(Self.piece, range.upperBound - start))
      try FileBytes.write(bytes[...], target, path, at: base + copied)
      copied += bytes.count
      guard copied == range.count || bytes.isEmpty else { return false }
      guard fdatasync(target) == 0 else { throw RecordError("write", path, errno: errno) }
      return true
    } catch {
      _ = try? FileBytes.truncate(target, path, to: base)
      throw error
    }
  }

  /// Checks that frames of `format` may follow those of the file at `path`.
  /// - Throws: `record.exists` if codec, rate or channels differ, or there is no readable frame;
  ///   `record.write`.
  public static func check(_ path: String, accepts format: StreamFormat) throws(RecordError) {
    let there = try RecordedFrames.format(path)
    guard there != format else { return }
    let found = there.map(describe) ?? "has no frames"
    throw RecordError(
      .exists, "\(path.onOneLine) \(found), the stream \(describe(format))",
      hint: "record to another file, or without append", facts: [.init("path", .string(path))])
  }

  private static func describe(_ format: StreamFormat) -> String {
    let channels =
      format.channels == 1 ? "mono" : format.channels == 2 ? "stereo" : "\(format.channels) channels"
    return "is \(format.codec) at \(format.sampleRate) Hz, \(channels)"
  }

  private static func open(_ path: String, _ mode: Int32) throws(RecordError) -> Int32 {
    let file = Glibc.open(path, mode | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw RecordError("open", path, errno: errno) }
    return file
  }

  private static func size(_ file: Int32, _ path: String) throws(RecordError) -> Int {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw RecordError("read", path, errno: errno) }
    return Int(status.st_size)
  }

  private static func end(_ source: Int32, _ target: Int32) {
    if source >= 0 { close(source) }
    if target >= 0 { close(target) }
  }
}
