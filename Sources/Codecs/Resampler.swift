internal import AudioCore
internal import CSoxr
internal import EventLoop

/// Changes the sample rate of a stream of interleaved Float32 frames, through libsoxr's HQ recipe (20 bits,
/// linear phase, a pass band without roll-off; the delay is compensated, so frame 0 of the output is frame 0
/// of the input).
///
/// n input frames become round(n × outputRate / inputRate) in all. Allocates when it is made and while soxr's
/// own queues reach their size, not per call. Confined to one thread at a time; may be moved to another
/// between calls.
public final class Resampler {
  /// The failure to load libsoxr; nil when it is there.
  static var libraryFailure: LibraryError? { SoxrHandle.library.failure }
  /// The version of libsoxr, as `0.1.3`; nil when it can't be loaded.
  static var libraryVersion: String? {
    guard let text = (try? SoxrHandle.library.functions)?.soxr_version().map({ String(cString: $0) }) else {
      return nil
    }
    return text.hasPrefix("libsoxr-") ? String(text.dropFirst(8)) : text
  }

  /// The input's sample rate in Hz.
  public let inputRate: Int
  /// The output's sample rate in Hz.
  public let outputRate: Int
  /// The number of samples per frame.
  public let channels: Int

  private let handle: SoxrHandle
  private var framesIn = 0
  private var framesOut = 0
  /// Samples after the last input, which the filter sees and which do not lengthen the output.
  private var tail: ArraySlice<Float> = []

  /// A resampler for frames of `channels` samples.
  /// - Throws: `audio.unsupported` when soxr can't convert between the rates.
  public init(from inputRate: Int, to outputRate: Int, channels: Int) throws {
    guard inputRate > 0, outputRate > 0, channels > 0 else {
      let rates = "from \(inputRate) to \(outputRate) Hz"
      throw AudioError(.unsupported, "cannot resample \(channels) channels \(rates)")
    }
    handle = try SoxrHandle(inputRate, outputRate, channels)
    self.inputRate = inputRate
    self.outputRate = outputRate
    self.channels = channels
  }

  /// Returns the number of output frames for `frames` input frames.
  public static func length(of frames: Int, from inputRate: Int, to outputRate: Int) -> Int {
    let (whole, rest) = frames.quotientAndRemainder(dividingBy: inputRate)
    return whole * outputRate + (rest * outputRate * 2 + inputRate) / (inputRate * 2)
  }

  /// Consumes input frames and writes the output frames that they complete.
  /// - Returns: frames consumed from the start of `input` and frames written to the start of `output`. Both
  ///   are 0 only when `input` is empty or `output` has no room.
  public func process(
    _ input: UnsafeBufferPointer<Float>, into output: UnsafeMutableBufferPointer<Float>
  ) throws -> (consumed: Int, produced: Int) {
    guard let source = input.baseAddress, input.count >= channels else { return (0, 0) }
    let result = try handle.process(
      source, input.count / channels, output.baseAddress, output.count / channels)
    framesIn += result.consumed
    framesOut += result.produced
    return result
  }

  /// Has `flush` continue the input with these samples in place of silence: the output ends as if sound followed.
  public func extend(with samples: [Float]) { tail = samples[...] }

  /// Writes the output frames left after the last input; to be called until it returns 0. Only `reset` may
  /// follow.
  /// - Returns: frames written to the start of `output`.
  public func flush(into output: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let left = Self.length(of: framesIn, from: inputRate, to: outputRate) - framesOut
    let room = min(left, output.count / channels)
    guard room > 0 else { return 0 }
    while !tail.isEmpty {
      let result = try tail.withUnsafeBufferPointer { samples in
        try samples.baseAddress.map {
          try handle.process($0, samples.count / channels, output.baseAddress, room)
        }
      }
      tail = tail.dropFirst(max(1, result?.consumed ?? 0) * channels)
      if let produced = result?.produced, produced > 0 {
        framesOut += produced
        return produced
      }
    }
    let produced = try handle.process(nil, 0, output.baseAddress, room).produced
    framesOut += produced
    return produced
  }

  /// Discards the history: the next input starts a new stream.
  public func reset() throws {
    try handle.reset()
    framesIn = 0
    framesOut = 0
    tail = []
  }
}

/// Resamples a stream of interleaved Float32 frames by a ratio near 1 that may change with every call, through
/// libsoxr's variable rate: for a sound card that follows the clock of another.
///
/// Source: `SOXR_VR` in soxr.h. Measured with version 0.1.3: flat within 0.002 dB, distortion below −95 dB, and
/// a delay of 1.6 frames at low frequencies, which `position` includes. Allocates while soxr's own queues
/// reach their size, not per call. Confined to one thread at a time.
public final class VariableResampler {
  /// The range of ratios: input frames per output frame.
  public static let ratios = 0.99...1.01
  /// The delay of soxr's filters in frames.
  private static let filterDelay = 1.614

  /// The number of samples per frame.
  public let channels: Int
  /// The index of the input frame that the next output frame reproduces, counted from the first one since the
  /// start or `reset`.
  public private(set) var position = -VariableResampler.filterDelay

  private let handle: SoxrHandle

  /// Creates a resampler for frames of `channels` samples.
  /// - Throws: `audio.unsupported` when soxr refuses.
  public init(channels: Int) throws {
    self.channels = channels
    handle = try SoxrHandle(variableUpTo: Self.ratios.upperBound, channels)
  }

  /// Consumes input frames and writes the output frames that they complete, at `ratio` input frames per output
  /// frame.
  /// - Returns: frames consumed from the start of `input` and frames written to the start of `output`.
  public func process(
    _ input: UnsafeBufferPointer<Float>, ratio: Double, into output: UnsafeMutableBufferPointer<Float>
  ) throws -> (consumed: Int, produced: Int) {
    guard let source = input.baseAddress, input.count >= channels else { return (0, 0) }
    try handle.set(ratio: ratio)
    let result = try handle.process(
      source, input.count / channels, output.baseAddress, output.count / channels)
    position += Double(result.produced) * ratio
    return result
  }

  /// Discards the history: the next input starts a new stream.
  public func reset() throws {
    try handle.reset()
    position = -Self.filterDelay
  }
}

/// A soxr resampler of one thread.
private struct SoxrHandle: ~Copyable {
  static let library = SharedLibrary<soxr_library>("libsoxr.so.0", package: "libsoxr0", names: soxr_names())

  private let raw: soxr_t
  private let soxr: soxr_library

  init(_ inputRate: Int, _ outputRate: Int, _ channels: Int) throws(AudioError) {
    let soxr = try Self.functions("from \(inputRate) to \(outputRate) Hz")
    var input = soxr.soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I)
    var quality = soxr.soxr_quality_spec(UInt(SOXR_HQ), UInt(SOXR_ROLLOFF_NONE))
    var runtime = soxr.soxr_runtime_spec(1)
    var error: soxr_error_t?
    let created = soxr.soxr_create(
      Double(inputRate), Double(outputRate), CUnsignedInt(channels), &error, &input, &quality, &runtime)
    guard let created else {
      throw AudioError(
        .unsupported, "cannot resample from \(inputRate) to \(outputRate) Hz: \(Self.words(error))")
    }
    (raw, self.soxr) = (created, soxr)
  }

  /// Creates a resampler whose ratio of input to output frames may be set later, up to a limit.
  init(variableUpTo limit: Double, _ channels: Int) throws(AudioError) {
    let soxr = try Self.functions("\(channels) channels")
    var format = soxr.soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I)
    var quality = soxr.soxr_quality_spec(UInt(SOXR_HQ), UInt(SOXR_VR))
    var runtime = soxr.soxr_runtime_spec(1)
    var error: soxr_error_t?
    let created = soxr.soxr_create(limit, 1, CUnsignedInt(channels), &error, &format, &quality, &runtime)
    guard let created else {
      throw AudioError(.unsupported, "cannot resample \(channels) channels: \(Self.words(error))")
    }
    (raw, self.soxr) = (created, soxr)
  }

  deinit { soxr.soxr_delete(raw) }

  func set(ratio: Double) throws(AudioError) { try Self.check(soxr.soxr_set_io_ratio(raw, ratio, 0)) }

  func process(
    _ input: UnsafePointer<Float>?, _ frames: Int, _ output: UnsafeMutablePointer<Float>?, _ room: Int
  ) throws(AudioError) -> (consumed: Int, produced: Int) {
    var (consumed, produced) = (0, 0)
    try Self.check(soxr.soxr_process(raw, input, frames, &consumed, output, room, &produced))
    return (consumed, produced)
  }

  func reset() throws(AudioError) { try Self.check(soxr.soxr_clear(raw)) }

  private static func functions(_ task: String) throws(AudioError) -> soxr_library {
    do throws(LibraryError) { return try library.functions } catch {
      throw AudioError(.unsupported, "cannot resample \(task): \(error.message)", hint: error.hint)
    }
  }

  private static func check(_ error: soxr_error_t?) throws(AudioError) {
    guard let error else { return }
    throw AudioError(.unsupported, "cannot resample: \(words(error))")
  }

  private static func words(_ error: soxr_error_t?) -> String {
    error.map { String(cString: $0) } ?? "soxr does not say why"
  }
}
