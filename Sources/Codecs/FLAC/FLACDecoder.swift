internal import AudioCore
internal import CFLAC
internal import EventLoop

/// FLAC in an Ogg file, through libFLAC: libsndfile 1.2 opens no such file, of any encoder.
///
/// Whole numbers are divided by 2^(bits−1), as in `SoundFileDecoder`. `seek` is exact to a frame. A file that
/// ends early has the frames of its whole pages. Source: "Ogg FLAC Mapping 1.0", Xiph.Org.
final class OggFLACDecoder: Decoder {
  /// The version of libFLAC, as `1.4.2`.
  static var libraryVersion: String { String(cString: flac_version()) }

  let format: AudioFormat
  /// The length in frames according to the header or, where that is silent or claims more than there is, to
  /// the last page.
  let frameCount: Int?
  /// The error of a file that was cut off.
  let shortfall: AudioError?

  private let handle: FLACHandle
  private let source: FLACSource
  private let path: String

  init(_ file: consuming FileDescriptor, path: String) throws {
    let last = OggPage.lastPosition(in: file)
    source = FLACSource(file)
    self.path = path
    handle = try FLACHandle(source, isOgg: true)
    guard FLAC__stream_decoder_process_until_end_of_metadata(handle.raw) != 0, let info = source.info else {
      throw AudioError.unreadable(path, found: "FLAC in Ogg without a header", atByte: source.position)
    }
    format = AudioFormat(sampleRate: info.sampleRate, channels: info.channels)
    if let frames = info.frames, let last, last < frames {
      frameCount = last
      shortfall = .cutShort(path, frames: last, of: frames, sampleRate: info.sampleRate, size: source.size)
    } else {
      frameCount = info.frames ?? last
      shortfall = nil
    }
    guard try fill() else {
      throw AudioError.unreadable(path, found: "the end of the file before any sound", atByte: source.size)
    }
  }

  /// Opens a file whose first page begins a stream of FLAC.
  @Sendable static func open(
    _ file: consuming FileDescriptor, _ path: String, _ first: Int
  ) throws -> any Decoder {
    if let end = OggEnd(of: file), end == .otherStream { return try OggChainDecoder(file, path: path, end) }
    return try OggFLACDecoder(file, path: path)
  }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let room = buffer.count / format.channels * format.channels
    guard room > 0, try fill() else { return 0 }
    return source.drain(into: UnsafeMutableBufferPointer(rebasing: buffer[..<room])) / format.channels
  }

  /// Decodes the next block unless there are samples left.
  /// - Returns: `false` at the end.
  private func fill() throws -> Bool {
    while source.isEmpty {
      let state = FLAC__stream_decoder_get_state(handle.raw)
      guard state != FLAC__STREAM_DECODER_END_OF_STREAM, state != FLAC__STREAM_DECODER_ABORTED,
        FLAC__stream_decoder_process_single(handle.raw) != 0
      else {
        if source.isDamaged { throw damage }
        return false
      }
    }
    return true
  }

  func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? .max else {
      throw AudioError.outsideSource(path, frame: frame, count: frameCount)
    }
    source.clear()
    // libFLAC refuses the frame after the last one; the target is then the one before it, and its samples
    // are dropped.
    let target = frame > 0 && frame == frameCount ? frame - 1 : frame
    guard FLAC__stream_decoder_seek_absolute(handle.raw, FLAC__uint64(target)) != 0 else {
      FLAC__stream_decoder_flush(handle.raw)
      throw damage
    }
    if target < frame { source.clear() }
  }

  private var damage: AudioError {
    .unreadable(path, found: "damaged FLAC", atByte: source.position)
  }
}

/// The files of FLAC without a container. libsndfile decodes them, but does not report the end of one that
/// was cut off.
enum FLACFile {
  /// Returns `true` for a file that begins with FLAC, after tags.
  static func isOne(_ file: borrowing FileDescriptor) -> Bool {
    var start = 0
    while let length = StreamTag.id3v2(file.bytes(at: start, count: 10)[...]) { start += length }
    return file.bytes(at: start, count: 4).elementsEqual("fLaC".utf8)
  }

  /// Returns the number of frames that a file has of the `claimed` ones, more than 0, that its header counts. The end of
  /// a file that was cut off is found by bisection with seeks; only the last part before it is decoded.
  static func frames(of file: consuming FileDescriptor, claimed: Int) throws -> Int {
    let source = FLACSource(file)
    let handle = try FLACHandle(source, isOgg: false)
    /// A frame that was reached is there. One that was not may still be: libFLAC estimates positions from the length
    /// that the header gives.
    func reaches(_ frame: Int) -> Bool {
      source.clear()
      if FLAC__stream_decoder_seek_absolute(handle.raw, FLAC__uint64(frame)) != 0 { return true }
      FLAC__stream_decoder_flush(handle.raw)
      return false
    }
    guard FLAC__stream_decoder_process_until_end_of_metadata(handle.raw) != 0, !reaches(claimed - 1) else {
      return claimed
    }
    var (reached, missed) = (0, claimed - 1)
    while missed - reached > 65_536 {
      let middle = reached + (missed - reached) / 2
      if reaches(middle) { reached = middle } else { missed = middle }
    }
    guard reaches(reached) else { return 0 }
    var frames = reached + source.frameCount
    source.clear()
    while FLAC__stream_decoder_process_single(handle.raw) != 0 {
      let state = FLAC__stream_decoder_get_state(handle.raw)
      if state == FLAC__STREAM_DECODER_END_OF_STREAM || state == FLAC__STREAM_DECODER_ABORTED { break }
      frames += source.frameCount
      source.clear()
    }
    return min(frames, claimed)
  }

  /// Decodes all of a file, and compares its sound with the MD5 in its header, if there is one.
  /// - Returns: the number of frames that could be decoded, and the damage in words; nil without any.
  static func check(_ file: consuming FileDescriptor) throws -> (frames: Int, damage: String?) {
    let source = FLACSource(file)
    let handle = try FLACHandle(source, isOgg: false, checksSum: true)
    var frames = 0
    while FLAC__stream_decoder_process_single(handle.raw) != 0 {
      frames += source.frameCount
      source.clear()
      let state = FLAC__stream_decoder_get_state(handle.raw)
      if state == FLAC__STREAM_DECODER_END_OF_STREAM || state == FLAC__STREAM_DECODER_ABORTED { break }
    }
    let hasSum = FLAC__stream_decoder_finish(handle.raw) != 0
    guard let info = source.info else { return (0, "FLAC without a header") }
    if let claimed = info.frames, frames < claimed {
      return (frames, "\(frames) of the \(claimed) PCM frames in its header")
    }
    if source.isDamaged { return (frames, "damaged FLAC") }
    return (frames, hasSum ? nil : "sound that differs from the MD5 in its header")
  }
}

/// A libFLAC decoder, deleted before the source that it reads.
private struct FLACHandle: ~Copyable {
  let raw: UnsafeMutablePointer<FLAC__StreamDecoder>
  private let source: FLACSource

  init(_ source: FLACSource, isOgg: Bool, checksSum: Bool = false) throws(AudioError) {
    guard let raw = FLAC__stream_decoder_new() else {
      throw AudioError(.unsupported, "cannot start libFLAC: no memory")
    }
    if checksSum { FLAC__stream_decoder_set_md5_checking(raw, 1) }
    let start = isOgg ? FLAC__stream_decoder_init_ogg_stream : FLAC__stream_decoder_init_stream
    // Unretained: the decoder is deleted before this value releases the source.
    let status = start(
      raw,
      { _, bytes, count, source in
        guard let bytes, let count, let source else { return FLAC__STREAM_DECODER_READ_STATUS_ABORT }
        count.pointee = FLACSource.from(source).read(
          into: UnsafeMutableRawBufferPointer(start: bytes, count: count.pointee))
        return count.pointee > 0
          ? FLAC__STREAM_DECODER_READ_STATUS_CONTINUE : FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM
      },
      { _, offset, source in
        guard let source, let offset = Int(exactly: offset) else {
          return FLAC__STREAM_DECODER_SEEK_STATUS_ERROR
        }
        FLACSource.from(source).position = offset
        return FLAC__STREAM_DECODER_SEEK_STATUS_OK
      },
      { _, offset, source in
        guard let source else { return FLAC__STREAM_DECODER_TELL_STATUS_ERROR }
        offset?.pointee = FLAC__uint64(FLACSource.from(source).position)
        return FLAC__STREAM_DECODER_TELL_STATUS_OK
      },
      { _, length, source in
        guard let source else { return FLAC__STREAM_DECODER_LENGTH_STATUS_ERROR }
        length?.pointee = FLAC__uint64(FLACSource.from(source).size)
        return FLAC__STREAM_DECODER_LENGTH_STATUS_OK
      },
      { _, source in source.map { FLACSource.from($0).isAtEnd ? 1 : 0 } ?? 1 },
      { _, frame, channels, source in
        guard let frame, let channels, let source,
          FLACSource.from(source).append(channels, of: frame.pointee.header)
        else { return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT }
        return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE
      },
      { _, metadata, source in
        guard let metadata, let source, metadata.pointee.type == FLAC__METADATA_TYPE_STREAMINFO else {
          return
        }
        FLACSource.from(source).describe(metadata.pointee.data.stream_info)
      },
      { _, _, source in source.map { FLACSource.from($0).isDamaged = true } },
      Unmanaged.passUnretained(source).toOpaque())
    guard status == FLAC__STREAM_DECODER_INIT_STATUS_OK else {
      FLAC__stream_decoder_delete(raw)
      throw AudioError(.unsupported, "cannot start libFLAC's decoder")
    }
    self.raw = raw
    self.source = source
  }

  deinit { FLAC__stream_decoder_delete(raw) }
}

/// The file that libFLAC reads, and the samples that it decoded and that were not yet read: one block at
/// most.
private final class FLACSource {
  struct Info {
    let sampleRate: Int
    let channels: Int
    /// Nil if the header is silent.
    let frames: Int?
  }

  /// The format and length; nil until the header was read.
  private(set) var info: Info?
  /// `true` once libFLAC met bytes that it could not decode.
  var isDamaged = false
  /// The byte of the file that is read next.
  var position = 0
  var size: Int { file.size }
  var isAtEnd: Bool { position >= file.size }
  var isEmpty: Bool { start == samples.count }
  /// The number of frames that were decoded and not yet read.
  var frameCount: Int { info.map { (samples.count - start) / $0.channels } ?? 0 }

  private let file: FileDescriptor
  private var samples: [Float] = []
  private var start = 0

  init(_ file: consuming FileDescriptor) { self.file = file }

  static func from(_ pointer: UnsafeMutableRawPointer) -> FLACSource {
    Unmanaged<FLACSource>.fromOpaque(pointer).takeUnretainedValue()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let bytes = file.bytes(at: position, count: buffer.count)
    buffer.copyBytes(from: bytes)
    position += bytes.count
    return bytes.count
  }

  func describe(_ header: FLAC__StreamMetadata_StreamInfo) {
    guard header.sample_rate > 0, header.channels > 0 else { return }
    info = Info(
      sampleRate: Int(header.sample_rate), channels: Int(header.channels),
      frames: header.total_samples > 0 ? Int(exactly: header.total_samples) : nil)
  }

  /// Appends a block.
  /// - Returns: `false` when its channels differ from the header's.
  func append(_ channels: UnsafePointer<UnsafePointer<FLAC__int32>?>, of header: FLAC__FrameHeader) -> Bool {
    guard let info, Int(header.channels) == info.channels, (1...32).contains(header.bits_per_sample) else {
      isDamaged = true
      return false
    }
    if isEmpty { clear() }
    let scale = 1 / Float(1 << (header.bits_per_sample - 1))
    samples.reserveCapacity(samples.count + Int(header.blocksize) * info.channels)
    for frame in 0..<Int(header.blocksize) {
      for channel in 0..<info.channels {
        samples.append(channels[channel].map { Float($0[frame]) * scale } ?? 0)
      }
    }
    return true
  }

  /// Moves samples to the start of `buffer` and returns their number.
  func drain(into buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    let count = min(buffer.count, samples.count - start)
    _ = buffer.update(fromContentsOf: samples[start..<(start + count)])
    start += count
    return count
  }

  func clear() {
    samples.removeAll(keepingCapacity: true)
    start = 0
  }
}
