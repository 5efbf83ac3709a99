internal import CFAAD

/// AAC-LC, Main, LTP, HE-AAC and HE-AAC v2 through libfaad.
///
/// Frames must have been found by a framing or a container; libfaad parses no ADTS header here. Every start
/// creates a new libfaad decoder, and so does the frame after one that failed: its state is not to be trusted
/// then. Confined to one thread at a time.
final class AACDecoder: AACFrameDecoder {
  /// The version of libfaad; nil when it reports none.
  static var libraryVersion: String? {
    var text: UnsafeMutablePointer<CChar>?
    return NeAACDecGetVersion(&text, nil) == 0 ? text.map { String(cString: $0) } : nil
  }

  private var handle: FAADHandle?
  private var configuration: AACConfiguration?
  /// The frame, and zeros after it for a reader that overruns its end.
  private var input: [UInt8] = []

  /// The length in bytes of the longest frame that is accepted: the most that an ADTS header can state.
  static let longestFrame = ADTSHeader.longest
  private static let zeros = [UInt8](repeating: 0, count: 1024)

  func start(_ configuration: AACConfiguration) throws(AACFailure) {
    handle = nil
    if let obstacle = configuration.obstacle { throw AACFailure(words: "\(obstacle) is not supported") }
    self.configuration = configuration
    handle = try FAADHandle(configuration)
  }

  func decode(_ frame: ArraySlice<UInt8>, into samples: inout [Float]) throws(AACFailure) -> DecodedAAC {
    samples.removeAll(keepingCapacity: true)
    guard let configuration else { throw AACFailure(words: "nothing was started") }
    guard !frame.isEmpty, frame.count <= Self.longestFrame else {
      throw AACFailure(words: "a frame of \(frame.count) bytes")
    }
    if handle == nil { handle = try FAADHandle(configuration) }
    input.removeAll(keepingCapacity: true)
    input += frame
    input += Self.zeros
    do throws(AACFailure) {
      guard let result = try handle?.decode(&input, count: frame.count, into: &samples) else {
        throw AACFailure(words: "nothing was started")
      }
      return result
    } catch {
      handle = nil
      samples.removeAll(keepingCapacity: true)
      throw error
    }
  }

  func reset() { handle?.reset() }
}

/// A libfaad decoder.
private struct FAADHandle: ~Copyable {
  private let raw: NeAACDecHandle

  init(_ configuration: AACConfiguration) throws(AACFailure) {
    guard let opened = NeAACDecOpen() else { throw AACFailure(words: "no memory for a decoder") }
    guard Self.start(opened, configuration) else {
      NeAACDecClose(opened)
      throw AACFailure(words: "a configuration that libfaad refuses")
    }
    raw = opened
    // Otherwise the first frame would return no samples.
    NeAACDecPostSeekReset(raw, 1)
  }

  deinit { NeAACDecClose(raw) }

  func reset() { NeAACDecPostSeekReset(raw, 1) }

  private static func start(_ raw: NeAACDecHandle, _ configuration: AACConfiguration) -> Bool {
    guard let options = NeAACDecGetCurrentConfiguration(raw) else { return false }
    options.pointee.outputFormat = UInt8(FAAD_FMT_FLOAT)
    options.pointee.downMatrix = 0
    options.pointee.dontUpSampleImplicitSBR = 1
    guard NeAACDecSetConfiguration(raw, options) != 0 else { return false }
    var (bytes, rate, channels) = (configuration.bytes, CUnsignedLong(0), UInt8(0))
    return NeAACDecInit2(raw, &bytes, CUnsignedLong(bytes.count), &rate, &channels) >= 0
  }

  func decode(
    _ input: inout [UInt8], count: Int, into samples: inout [Float]
  ) throws(AACFailure) -> DecodedAAC {
    var info = NeAACDecFrameInfo()
    let output = NeAACDecDecode(raw, &info, &input, CUnsignedLong(count))
    guard info.error == 0, let output else {
      throw AACFailure(words: Self.words(info.error))
    }
    let (channels, total) = (Int(info.channels), Int(clamping: info.samples))
    guard let order = Self.order(info) else {
      throw AACFailure(words: "\(channels) channels in an order that is not supported")
    }
    guard total % channels == 0, total / channels <= 2048, info.samplerate > 0, info.bytesconsumed <= count
    else {
      throw AACFailure(words: "an impossible result")
    }
    let source = UnsafeBufferPointer(start: output.assumingMemoryBound(to: Float.self), count: total)
    Self.append(source, order, to: &samples)
    return DecodedAAC(
      sampleRate: Int(info.samplerate), channels: channels, frames: total / channels,
      length: Int(info.bytesconsumed))
  }

  /// Appends `source`, which has a full scale of 1, with the channels in `order`.
  private static func append(_ source: UnsafeBufferPointer<Float>, _ order: [Int], to samples: inout [Float])
  {
    guard order.count > 2 else {
      samples += source
      return
    }
    for start in stride(from: 0, to: source.count, by: order.count) {
      for channel in order { samples.append(source[start + channel]) }
    }
  }

  /// The index among libfaad's channels of each channel in WAV's order (L R C LFE Ls Rs …); nil for a layout
  /// without such an order.
  private static func order(_ info: NeAACDecFrameInfo) -> [Int]? {
    let channels = Int(info.channels)
    guard channels > 2 else { return channels > 0 ? Array(0..<channels) : nil }
    guard channels <= 8 else { return nil }
    let ranks = [
      FRONT_CHANNEL_LEFT: 0, FRONT_CHANNEL_RIGHT: 1, FRONT_CHANNEL_CENTER: 2, LFE_CHANNEL: 3,
      BACK_CHANNEL_LEFT: 4, BACK_CHANNEL_RIGHT: 5, SIDE_CHANNEL_LEFT: 6, SIDE_CHANNEL_RIGHT: 7,
    ]
    let positions = withUnsafeBytes(of: info.channel_position) {
      $0.prefix(channels).map { ranks[Int32($0)] }
    }
    let known = positions.compactMap { $0 }
    guard known.count == channels, Set(known).count == channels || channels == 8 else { return nil }
    return (0..<channels).sorted { (known[$0], $0) < (known[$1], $1) }
  }

  private static func words(_ error: UInt8) -> String {
    NeAACDecGetErrorMessage(error).map { String(cString: $0).lowercased() } ?? "damage"
  }
}
