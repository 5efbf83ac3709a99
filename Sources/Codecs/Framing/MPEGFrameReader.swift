internal import Glibc

/// A file of MPEG audio, read as if it held nothing but whole frames of sound.
///
/// Tags, damage, frames that another programme cut off and a VBRI header are left out, so a decoder of the
/// rest never has to search. Frames are searched while the file is read. Memory: two parts of the file, and
/// 24 bytes for each position where something was left out, up to 65,536 of them; the file after these is
/// read as it is.
final class MPEGFrameReader {
  private let file: FileDescriptor
  private var framing: MPEGAudioFraming
  /// The byte of the file that is scanned next.
  private var scanned: Int
  private var isComplete = false
  /// The parts of the file that are read, in order.
  private var segments: [Segment] = []
  private var position = 0
  /// The number of PCM frames in the frames of sound so far.
  private var samples = 0
  /// The end was requested. Its position is unknown before the whole file was scanned; it holds no tag.
  private var isAtEnd = false
  /// The part of the file that was read last.
  private var part: [UInt8] = []
  private var partOffset = 0

  /// Maps the output from byte `start` on to the file from byte `offset` on.
  private struct Segment {
    let start: Int
    let offset: Int
    var length: Int
    var end: Int { start + length }
  }

  private static let chunk = 32_768
  private static let mostSegments = 65_536

  /// - Parameter firstFrame: byte at which the first frame starts.
  init(_ file: consuming FileDescriptor, firstFrame: Int) {
    self.file = file
    scanned = firstFrame
    framing = MPEGAudioFraming(offset: firstFrame)
  }

  /// Fills `buffer`; returns fewer bytes only at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    if isAtEnd {
      buffer.initializeMemory(as: UInt8.self, repeating: 0)
      return buffer.count
    }
    var done = 0
    while done < buffer.count {
      guard let segment = segment(at: position) else {
        if isComplete { break }
        lookOn()
        continue
      }
      let offset = segment.offset + position - segment.start
      if offset < partOffset || offset >= partOffset + part.count {
        part = file.bytes(at: offset, count: Self.chunk)
        partOffset = offset
        if part.isEmpty { break }
      }
      let first = offset - partOffset
      let count = min(buffer.count - done, segment.end - position, part.count - first)
      part.withUnsafeBytes { source in
        UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: source[first..<(first + count)]))
      }
      done += count
      position += count
    }
    return done
  }

  /// Moves to a byte of the output, as `lseek` does. The position of the end is a guess that is not too
  /// small.
  func seek(_ offset: Int, _ whence: CInt) -> Int {
    let base = whence == SEEK_END ? file.size : whence == SEEK_CUR ? position : 0
    guard base + offset >= 0 else { return -1 }
    isAtEnd = whence == SEEK_END && offset < 0
    position = base + offset
    return position
  }

  /// The byte of the file at which the next read begins.
  var fileOffset: Int {
    segment(at: position).map { $0.offset + position - $0.start } ?? min(scanned, file.size)
  }

  /// Returns the PCM frames in all frames of sound; scans the rest of the file for it.
  func sampleCount() -> Int {
    while !isComplete { lookOn() }
    return samples
  }

  private func segment(at position: Int) -> Segment? {
    var (low, high) = (0, segments.count)
    while low < high {
      let middle = (low + high) / 2
      if segments[middle].end <= position { low = middle + 1 } else { high = middle }
    }
    return low < segments.count ? segments[low] : nil
  }

  /// Scans the next part of the file for frames.
  private func lookOn() {
    if segments.count >= Self.mostSegments {
      append(offset: scanned, length: file.size - scanned)
      isComplete = true
      return
    }
    let bytes = file.bytes(at: scanned, count: Self.chunk)
    scanned += bytes.count
    if bytes.isEmpty {
      framing.end()
      isComplete = true
    } else {
      framing.feed(bytes)
    }
    while let frame = framing.next() {
      // libmpg123 would decode it as a frame of silence.
      if frame.streamLength?.kind == .vbri { continue }
      if frame.streamLength == nil { samples += frame.encoded.samples }
      append(offset: frame.encoded.offset, length: frame.encoded.length)
    }
  }

  private func append(offset: Int, length: Int) {
    let start = segments.last?.end ?? 0
    if let last = segments.last, last.offset + last.length == offset {
      segments[segments.count - 1].length += length
    } else if length > 0 {
      segments.append(Segment(start: start, offset: offset, length: length))
    }
  }
}
