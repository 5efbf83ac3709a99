internal import AudioCore
internal import Codecs
internal import EventLoop

/// The sound of a recording, decoded into a WAV file. Confined to the disk thread.
final class WAVBody {
  private let path: String
  private let frames = Frames()
  private let decoder: any Decoder
  private var writer: SoundFileWriter?
  private var block = [Float](repeating: 0, count: 8192)
  /// PCM frames that were written.
  private(set) var samples = 0

  /// - Parameter path: an empty file.
  init(path: String, codec: StreamCodec) throws(RecordError) {
    self.path = path
    do {
      switch codec {
      case .layer1, .layer2, .mp3: decoder = try MPEGStreamDecoder(frames)
      case .aac: decoder = ADTSStreamDecoder(frames)
      case .ogg, .flac, .wav, .mp4, .other, .pcm: throw RecordError.notDecoded(codec)
      }
    } catch let error as RecordError {
      throw error
    } catch { throw RecordError(.write, "\(error)") }
  }

  /// What the file holds.
  var format: AudioFormat { writer?.format ?? decoder.format }
  /// Bytes of sound.
  var bytes: Int { samples * 2 * format.channels }

  /// Whole frames of the stream.
  func add(_ bytes: ArraySlice<UInt8>, _ lengths: some Sequence<Int>) throws(RecordError) {
    var place = bytes.startIndex
    for length in lengths {
      frames.waiting.append([UInt8](bytes[place..<(place + length)]))
      place += length
    }
    try decode()
  }

  private func decode() throws(RecordError) {
    do {
      while true {
        let count = try block.withUnsafeMutableBufferPointer { try decoder.read(into: $0) }
        guard count > 0 else { return }
        if writer == nil { writer = try SoundFileWriter(path: path, format: decoder.format) }
        guard let writer, writer.format == decoder.format else {
          throw RecordError(.write, "the sound of \(path.onOneLine) changed to another format")
        }
        try block.withUnsafeBufferPointer {
          try writer.write(UnsafeBufferPointer(rebasing: $0[..<(count * decoder.format.channels)]))
        }
        samples += count
      }
    } catch let error as RecordError {
      throw error
    } catch { throw RecordError.writing(path, error) }
  }

  /// Writes the header and closes the file.
  func finish() throws(RecordError) {
    do { try writer?.finish() } catch { throw RecordError.writing(path, error) }
  }

  private final class Frames: FrameSource {
    var waiting: [[UInt8]] = []
    private var next = 0
    func nextFrame() -> [UInt8]? {
      guard next < waiting.count else {
        waiting.removeAll(keepingCapacity: true)
        next = 0
        return nil
      }
      next += 1
      return waiting[next - 1]
    }
  }
}

extension RecordError {
  /// Sound that can't be a WAV file.
  static func notDecoded(_ codec: StreamCodec) -> RecordError {
    RecordError(.write, "sound in \(codec) can't be decoded here", hint: "record it in its original format")
  }

  /// What a library says of a file that it can't write.
  static func writing(_ path: String, _ error: any Error) -> RecordError {
    let words = (error as? any CodedError)?.message ?? "\(error)"
    let isFull = words.contains("No space left") || words.contains("quota")
    return RecordError(
      isFull ? .diskFull : .write, words, hint: isFull ? "make room, or record to another disk" : nil,
      facts: [.init("path", .string(path))])
  }
}
