internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Glibc

/// The lengths of files, each measured once for as long as the file stays the same. Confined to the loop.
final class FileLengths {
  /// The length of a file.
  struct Length {
    /// The number of frames at `sampleRate`, which is the file's, or that of sessions where the file had to
    /// be decoded.
    let frames: Int
    let sampleRate: Int
    /// The shortfall against the file's header.
    let shortfall: AudioError?
  }

  private let format: AudioFormat
  private var known: [String: (version: FileVersion, length: Length)] = [:]

  /// Measures for sessions of `format`.
  init(format: AudioFormat) { self.format = format }

  /// Returns the length of the file at `path`; decodes the file where only that gives it.
  /// - Throws: `AudioError`.
  func length(of path: String) throws -> Length {
    let version = FileVersion(path: path)
    if let known = known[path], known.version == version { return known.length }
    let file = try AudioFile.open(path)
    let decoder = try ConformedDecoder(file, to: format)
    let length: Length
    if let frames = file.frameCount {
      length = Length(frames: frames, sampleRate: file.format.sampleRate, shortfall: file.shortfall)
    } else {
      length = Length(
        frames: try countFrames(of: decoder), sampleRate: format.sampleRate, shortfall: decoder.shortfall)
    }
    known[path] = (version, length)
    return length
  }

  private func countFrames(of decoder: ConformedDecoder) throws -> Int {
    let block = PCMBlock(format: format, frames: 4096)
    var length = 0
    while true {
      let count = try decoder.read(into: block.view.buffer)
      if count == 0 { return length }
      length += count
    }
  }
}

/// A file of known length that is not decoded.
final class MeasuredFile: Decoder {
  let format: AudioFormat
  let frameCount: Int?
  let shortfall: AudioError?
  /// The number of frames after the position.
  private(set) var rest: Int

  init(_ length: FileLengths.Length) {
    format = AudioFormat(sampleRate: length.sampleRate, channels: 2)
    (frameCount, rest, shortfall) = (length.frames, length.frames, length.shortfall)
  }

  /// Returns 0: there are no samples.
  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int { 0 }

  func seek(toFrame frame: Int) throws { rest = (frameCount ?? 0) - frame }
}

/// Identity of a file: distinguishes it from another one put under the same path later.
private struct FileVersion: Equatable {
  private let inode: UInt
  private let size: Int
  private let changed: WallTime?

  init(path: String) {
    var status = stat()
    _ = stat(path, &status)
    inode = status.st_ino
    size = Int(status.st_size)
    changed = LinuxFiles.modificationTime(of: path)
  }
}
