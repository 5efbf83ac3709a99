public import AudioCore
internal import CSndfile
internal import Glibc

/// Writes a WAV file of 16 bits, through libsndfile.
///
/// An unchanged 16-bit source is written bit for bit; samples beyond full scale are clamped. The same samples
/// give the same bytes: no date, no name, no peak is written. The header's length is updated at least once
/// per second of audio, so the file can be played at any moment and whatever ends the process. The format is
/// the plain one, without extensions, that every program reads, and so holds 4 GiB at most (six hours of a
/// session); `write` refuses more.
public final class SoundFileWriter: PCMSink {
  /// The rate and channels of the file.
  public let format: AudioFormat

  private var handle: SoundFileHandle?
  private let path: String
  private let scratch: UnsafeMutableBufferPointer<Int16>
  private var framesUntilHeader: Int
  /// The number of PCM frames that the header's 32-bit sizes still have room for.
  public private(set) var framesLeft: Int

  /// Creates the file at `path`, or empties an existing one.
  /// - Throws: `audio.no_output` with the system's words.
  public init(path: String, format: AudioFormat) throws {
    let file = try FileDescriptor(writing: path)
    var info = SF_INFO()
    info.samplerate = CInt(format.sampleRate)
    info.channels = CInt(format.channels)
    info.format = CInt(SF_FORMAT_WAV | SF_FORMAT_PCM_16)
    let handle = try SoundFileHandle(writing: file, path: path, &info)
    self.format = format
    self.handle = handle
    self.path = path
    framesUntilHeader = format.sampleRate
    framesLeft = (Int(UInt32.max) - 1024) / (2 * format.channels)
    scratch = .allocate(capacity: 4096 * format.channels)  // freed in deinit
    scratch.initialize(repeating: 0)
  }

  deinit { scratch.deallocate() }

  /// Writes frames; returns when the system has accepted them.
  public func write(_ samples: UnsafeBufferPointer<Float>) throws {
    guard let handle else { throw AudioError.noOutput(path, cause: "it is finished") }
    var rest = samples[...]
    while !rest.isEmpty {
      let piece = UnsafeBufferPointer(rebasing: rest.prefix(scratch.count))
      try write(piece, to: handle)
      rest = rest.dropFirst(piece.count)
    }
  }

  /// Writes the final header and closes the file.
  public func finish() throws {
    guard let handle else { return }
    // Closed whether or not the header could be written.
    self.handle = nil
    try updateHeader(of: handle)
  }

  private func write(_ piece: UnsafeBufferPointer<Float>, to handle: SoundFileHandle) throws {
    guard let source = piece.baseAddress, let target = scratch.baseAddress else { return }
    SampleConversion.convert(source, to: target, count: piece.count)
    let frames = piece.count / format.channels
    guard frames <= framesLeft else {
      throw AudioError.noOutput(path, cause: "a WAV file holds no more than 4 GiB")
    }
    framesLeft -= frames
    errno = 0
    guard handle.sndfile.sf_writef_short(handle.raw, target, sf_count_t(frames)) == frames else {
      throw failure(of: handle)
    }
    framesUntilHeader -= frames
    if framesUntilHeader <= 0 { try updateHeader(of: handle) }
  }

  private func updateHeader(of handle: SoundFileHandle) throws {
    errno = 0
    _ = handle.sndfile.sf_command(handle.raw, CInt(SFC_UPDATE_HEADER_NOW), nil, 0)
    guard handle.sndfile.sf_error(handle.raw) == 0 else { throw failure(of: handle) }
    framesUntilHeader = format.sampleRate
  }

  /// Returns the error of the last call. Reads `errno` first: libsndfile's own words for it are "system
  /// error".
  private func failure(of handle: SoundFileHandle) -> AudioError {
    let number = errno
    let cause = number != 0 ? FileDescriptor.words(for: number) : handle.lastError
    return .noOutput(path, cause: cause ?? "libsndfile does not say why")
  }
}
