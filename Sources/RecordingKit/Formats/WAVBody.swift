internal import AudioCore
internal import Codecs
internal import EventLoop

/// The sound of a recording, decoded into a WAV file. Confined to the disk thread.
///
/// A WAV file holds 4 GiB, and sound of one format: further sound, or sound of another format, goes to the
/// next file, which continues with the same decoder, so that no sound is missing between them.
final class WAVBody {
  private let path: String
  private let frames: Frames
  private let decoder: any Decoder
  private var writer: SoundFileWriter?
  private var block: [Float]
  /// The PCM frames in `block` that are not written: the first of the next file.
  private var carried = 0
  private let longest: Int
  /// The number of written PCM frames.
  private(set) var samples = 0
  /// `true` if further sound belongs in the next file.
  var isFull: Bool { carried > 0 }

  /// Creates the body of a file.
  /// - Parameters:
  ///   - path: an empty file.
  ///   - headers: the headers of Ogg pages.
  ///   - samples: the format of frames that are PCM of 16 bits; nil for coded ones.
  ///   - longest: the limit in PCM frames, besides that of the file format.
  init(
    path: String, codec: Codec, headers: OggHeaders? = nil, samples: AudioFormat? = nil, longest: Int = .max
  ) throws(RecordError) {
    (self.path, self.longest) = (path, longest)
    frames = Frames()
    block = [Float](repeating: 0, count: 8192)
    if let samples {
      decoder = PCMStreamDecoder(frames, format: samples, width: 2)
      return
    }
    do {
      let decoder = try codec.decoder(of: frames, headers: headers?.pages(serial: 0).bytes ?? [])
      guard let decoder else { throw RecordError.notDecoded(codec) }
      self.decoder = decoder
    } catch let error as RecordError {
      throw error
    } catch { throw RecordError(.write, "\(error)") }
  }

  /// Creates the body of the next file after `last`, which is full and receives no more sound.
  init(path: String, behind last: WAVBody) throws(RecordError) {
    (self.path, longest) = (path, last.longest)
    (frames, decoder, block, carried) = (last.frames, last.decoder, last.block, last.carried)
    try decode()
  }

  /// The format of the sound in the file.
  var format: AudioFormat { writer?.format ?? decoder.format }
  /// The number of sound bytes.
  var bytes: Int { samples * 2 * format.channels }

  /// Adds whole frames of the stream, given as their concatenated bytes and their lengths.
  /// - Parameter limit: the number of their PCM frames that are kept.
  func add(
    _ bytes: ArraySlice<UInt8>, _ lengths: some Sequence<Int>, keeping limit: Int = .max
  ) throws(RecordError) {
    var index = bytes.startIndex
    for length in lengths {
      frames.waiting.append([UInt8](bytes[index..<(index + length)]))
      index += length
    }
    if !isFull { try decode(keeping: limit) }
  }

  private func decode(keeping limit: Int = .max) throws(RecordError) {
    do {
      var left = limit
      while true {
        if carried == 0 { carried = try block.withUnsafeMutableBufferPointer { try decoder.read(into: $0) } }
        guard carried > 0 else { return }
        carried = min(carried, left)
        left -= carried
        guard carried > 0 else { continue }
        if writer == nil { writer = try SoundFileWriter(path: path, format: decoder.format) }
        guard let writer, writer.format == decoder.format, writer.framesLeft >= carried,
          samples == 0 || samples + carried <= longest
        else { return }
        try block.withUnsafeBufferPointer {
          try writer.write(UnsafeBufferPointer(rebasing: $0[..<(carried * decoder.format.channels)]))
        }
        samples += carried
        carried = 0
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
  /// Returns the failure of sound that can't be decoded into a WAV file.
  static func notDecoded(_ codec: Codec) -> RecordError {
    RecordError(.write, "sound in \(codec) can't be decoded here", hint: "record it in its original format")
  }

  /// Returns the failure of a library to write a file, from its error.
  static func writing(_ path: String, _ error: any Error) -> RecordError {
    let words = (error as? any CodedError)?.message ?? "\(error)"
    let isFull = words.contains("No space left") || words.contains("quota")
    return RecordError(
      isFull ? .diskFull : .write, words, hint: isFull ? "make room, or record to another disk" : nil,
      facts: [.init("path", .string(path))])
  }
}
