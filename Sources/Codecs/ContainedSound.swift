public import AudioCore
internal import EventLoop

/// The sound of a file whose container gives its format and length: FLAC, MP4 (M4A), AIFF, CAF, AU, W64 and WAV of all
/// kinds; not that of Ogg, and of MPEG audio and AAC without a container, which is found by walking their pages and
/// frames.
public struct ContainedSound: Sendable, Equatable {
  /// The result of looking at a file.
  public enum Finding: Sendable, Equatable {
    /// Sound that can be decoded.
    case sound(ContainedSound)
    /// Sound that can't be decoded, with the reason in words.
    case damaged(String)
    /// Sound of a kind that has no decoder here, with the reason in words.
    case unsupported(String)
  }

  /// The rate and channels.
  public let format: AudioFormat
  /// The length in PCM frames of the sound that is present; nil if no header states it.
  public let frames: Int?
  /// The difference from the length in the header, or the damage of the sound, in words; nil when none was
  /// found.
  public let damage: String?

  /// Reads the headers of the file at `path`; time and memory do not grow with the file, unless they state no length: then
  /// all of its frames are decoded.
  /// - Returns: nil for a file of another kind, or one that can't be opened.
  public static func measure(_ path: String) -> Finding? { find(path) { try measured($0, path) } }

  /// Decodes the file at `path` to its end. FLAC is compared with its MD5, all others with the length in their headers.
  /// - Returns: nil for a file of another kind, or one that can't be opened.
  public static func check(_ path: String) -> Finding? { find(path) { try checked($0, path) } }

  private static func find(
    _ path: String, _ read: (any Decoder) throws -> ContainedSound
  ) -> Finding? {
    guard isContainer(path) else { return nil }
    do {
      return .sound(try read(try AudioFile.open(path)))
    } catch let error as AudioError {
      let words = words(error, path)
      return error.kind == .unsupported ? .unsupported(words) : .damaged(words)
    } catch { return .damaged("\(error)") }
  }

  /// Returns `true` for a file in a container, and for sound without a decoder.
  private static func isContainer(_ path: String) -> Bool {
    guard let file = try? FileDescriptor(reading: path) else { return false }
    return switch SourceKind(of: file) {
    case .unsupported: true
    case .sound(let codec, _): !codec.hasFrames && codec != .ogg
    case .playlist, .unknown: false
    }
  }

  private static func measured(_ decoder: any Decoder, _ path: String) throws -> ContainedSound {
    guard decoder.frameCount != nil else { return try checked(decoder, path) }
    return ContainedSound(
      format: decoder.format, frames: decoder.frameCount, damage: decoder.shortfall.map { words($0, path) })
  }

  private static func checked(_ decoder: any Decoder, _ path: String) throws -> ContainedSound {
    let file = try FileDescriptor(reading: path)
    if FLACFile.isOne(file) {
      let (frames, damage) = try FLACFile.check(file)
      return ContainedSound(format: decoder.format, frames: frames, damage: damage)
    }
    let (format, stated) = (decoder.format, decoder.frameCount)
    var (block, frames) = ([Float](repeating: 0, count: 8192 * format.channels), 0)
    while true {
      let count: Int
      do { count = try block.withUnsafeMutableBufferPointer { try decoder.read(into: $0) } } catch let error
        as AudioError
      {
        return ContainedSound(format: format, frames: frames, damage: words(error, path))
      }
      guard count > 0 else { break }
      frames += count
    }
    var damage = decoder.shortfall.map { words($0, path) }
    if let silenced = (decoder as? MP4FileDecoder)?.silencedFrames, silenced > 0 {
      damage = damage ?? "\(silenced) frames of AAC that can't be decoded"
    }
    if let stated, frames != stated {
      damage = damage ?? "\(frames) of the \(stated) PCM frames in its header"
    }
    return ContainedSound(format: format, frames: frames, damage: damage)
  }

  /// Returns the words of an error without the path.
  private static func words(_ error: AudioError, _ path: String) -> String {
    let start = "cannot decode \(path): "
    let words = error.message.hasPrefix(start) ? error.message.dropFirst(start.count) : error.message[...]
    return words.hasPrefix("found ") ? String(words.dropFirst(6)) : String(words)
  }
}
