public import AudioCore
public import EventLoop

/// A decoder that converts another one's sound to a given format: the source of a session.
///
/// Channels are converted to stereo or to `AudioFormat.surround` (`ChannelConversion`), then the rate to
/// `format.sampleRate`. Stereo of the wanted rate passes bit for bit. Positions and lengths count frames of
/// `format`; after `seek` the samples are those that reading from the start would have returned (up to the
/// rounding of the resampler when rates differ). The inner decoder may change its format while it is read,
/// and may be a live one; this decoder is a live one then too.
public final class ConformedDecoder: LiveDecoder {
  /// The wanted format.
  public let format: AudioFormat

  private let decoder: any Decoder
  private var sourceFormat: AudioFormat
  private var resampler: Resampler?
  /// The frames read from the decoder, in its own channels.
  private let raw: PCMBlock
  /// The frames of `raw` in the wanted channels, of which `pending` frames from `start` on are not yet used.
  /// Has room for many frames: a decoder that turns to mono fills `raw` with them.
  private let converted: PCMBlock
  private var start = 0
  private var pending = 0
  /// The number of frames of the output to be dropped after a seek.
  private var excess = 0
  private let waste: PCMBlock
  /// The last frames that were converted in channels, for the end of a rate.
  private var history: [Float] = []
  /// The number of frames of the output that stand for sound before a new rate, to be dropped.
  private var lead = 0
  private var phase = Phase.flowing
  /// `true` if the inner decoder has no frames now, and will later.
  public var isWaiting: Bool { phase == .waiting }

  /// The state of the inner decoder at the last read.
  private enum Phase {
    /// The decoder had frames at the rate that is converted.
    case flowing
    /// The decoder has no frames now, and will later.
    case waiting
    /// The decoder has changed its rate: the resampler is flushed before the frames that were read.
    case changing
    /// The decoder has ended: the resampler is flushed.
    case ended
  }

  /// The number of frames per read of the inner decoder.
  private static let chunk = 1024
  /// The source frames that are resampled before the wanted one; more than the filter's length.
  private static let preroll = 4096
  /// The number of frames by which sound is continued over a change of rate; more than half the filter's
  /// length.
  private static let overlap = 512

  /// - Parameters:
  ///   - decoder: at its start; not to be used by others from now on.
  ///   - format: the wanted rate; two channels, or those of `AudioFormat.surround`.
  /// - Throws: `audio.unsupported` when the decoder's format can't be converted.
  public init(_ decoder: any Decoder, to format: AudioFormat = .session) throws {
    let known = [2, AudioFormat.surround.channels]
    guard known.contains(format.channels) else {
      throw AudioError(
        .unsupported,
        "cannot convert sound to \(format.channels) channels, only to \(known[0]) or \(known[1])")
    }
    self.decoder = decoder
    self.format = format
    sourceFormat = decoder.format
    let most = ChannelConversion.mostChannels
    raw = PCMBlock(format: .init(sampleRate: format.sampleRate, channels: most), frames: Self.chunk)
    converted = PCMBlock(format: format, frames: Self.chunk * most)
    waste = PCMBlock(format: format, frames: Self.chunk)
    try adopt(decoder.format)
  }

  /// The length in frames of `format`.
  public var frameCount: Int? {
    decoder.frameCount.map {
      Resampler.length(of: $0, from: decoder.format.sampleRate, to: format.sampleRate)
    }
  }

  /// The shortfall of the inner decoder.
  public var shortfall: AudioError? { decoder.shortfall }

  /// Passes `wake` to a live inner decoder; another one never calls it.
  public func onFrames(_ wake: @escaping @Sendable () -> Void) {
    (decoder as? any LiveDecoder)?.onFrames(wake)
  }

  /// Fills `buffer`, which holds frames of `format`; returns fewer frames only at the end, or while it waits.
  public func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    while excess > 0 {
      let target = UnsafeMutableBufferPointer(rebasing: waste.view.buffer.prefix(excess * format.channels))
      let dropped = try fill(target)
      if dropped == 0 { break }
      excess -= dropped
    }
    return try fill(buffer)
  }

  /// Moves to a frame of `format`.
  public func seek(toFrame frame: Int) throws {
    guard frame >= 0, frame <= frameCount ?? .max else {
      throw AudioError.outsideSource("the source", frame: frame, count: frameCount)
    }
    let (from, to) = (sourceFormat.sampleRate, format.sampleRate)
    // Frames of both rates coincide every `from / common` source frames: only there may the resampler start.
    let common = Self.greatestCommonDivisor(from, to)
    let target = frame / (to / common) * (from / common)
    let distance = from == to ? 0 : Self.preroll
    let begin = max(0, target - distance) / (from / common) * (from / common)
    try decoder.seek(toFrame: begin)
    try adopt(decoder.format)
    excess = frame - begin / (from / common) * (to / common)
  }

  /// Fills `buffer`; fewer frames only at the end, or while it waits.
  private func fill(_ buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let channels = format.channels
    let wanted = buffer.count / channels
    var done = 0
    while done < wanted {
      let rest = UnsafeMutableBufferPointer(rebasing: buffer[(done * channels)..<(wanted * channels)])
      if let resampler, phase == .changing || phase == .ended {
        let produced = try resampler.flush(into: lead > 0 ? leadRoom : rest)
        if lead > 0 { lead -= produced } else { done += produced }
        if produced > 0 { continue }
      }
      if phase == .ended { break }
      if phase == .changing { try changeFormat() }
      if pending == 0 {
        try refill()
        if isWaiting { break }
        continue
      }
      done += try resampler.map { try resample($0, into: rest) } ?? pass(into: rest)
    }
    return done
  }

  /// Copies pending frames to `buffer` and returns their number.
  private func pass(into buffer: UnsafeMutableBufferPointer<Float>) -> Int {
    let produced = min(pending, buffer.count / format.channels)
    _ = buffer.update(fromContentsOf: samples(produced))
    consume(produced)
    return produced
  }

  /// Room for frames of the output that are dropped.
  private var leadRoom: UnsafeMutableBufferPointer<Float> {
    UnsafeMutableBufferPointer(
      rebasing: waste.view.buffer.prefix(min(lead, waste.view.frames) * format.channels))
  }

  private func resample(
    _ resampler: Resampler, into buffer: UnsafeMutableBufferPointer<Float>
  ) throws -> Int {
    let input = UnsafeBufferPointer(rebasing: samples(pending))
    let (consumed, produced) = try resampler.process(input, into: lead > 0 ? leadRoom : buffer)
    consume(consumed)
    guard lead > 0 else { return produced }
    lead -= produced
    return 0
  }

  /// Returns the samples of the first `frames` pending frames.
  private func samples(_ frames: Int) -> Slice<UnsafeMutableBufferPointer<Float>> {
    converted.view.buffer[(start * format.channels)..<((start + frames) * format.channels)]
  }

  private func consume(_ frames: Int) {
    start += frames
    pending -= frames
  }

  /// Reads the next frames of the decoder and converts them, unless they have another format.
  private func refill() throws {
    let room = raw.view.buffer.prefix(Self.chunk * sourceFormat.channels)
    let got = try decoder.read(into: UnsafeMutableBufferPointer(rebasing: room))
    start = 0
    pending = got
    guard got > 0 else {
      phase = (decoder as? any LiveDecoder)?.isWaiting == true ? .waiting : .ended
      return
    }
    guard decoder.format.sampleRate == sourceFormat.sampleRate else {
      phase = .changing
      return extendEnd()
    }
    phase = .flowing
    // Channels are converted before the rate, whose conversion continues.
    if decoder.format != sourceFormat { try adopt(channelsOf: decoder.format) }
    convert(got)
  }

  private func adopt(channelsOf newFormat: AudioFormat) throws {
    guard ChannelConversion.supports(channels: newFormat.channels) else {
      throw AudioError(.unsupported, "cannot convert \(newFormat.channels) channels to stereo")
    }
    sourceFormat = newFormat
  }

  /// Continues with the frames that were read in a new format.
  private func changeFormat() throws {
    let frames = pending
    try adopt(decoder.format)
    convert(frames)
    pending = frames
    if let resampler { try extendStart(resampler) }
  }

  /// Continues the sound that ends in its rate by its mirror image around the last frame: its value and its slope do
  /// not break off, so that the filter makes no click of the change.
  private func extendEnd() {
    let channels = format.channels
    let frames = history.count / channels
    guard let resampler, frames > 1 else { return }
    resampler.extend(
      with: (1..<frames).flatMap { distance in
        (0..<channels).map { channel in
          let last = history[(frames - 1) * channels + channel]
          return 2 * last - history[(frames - 1 - distance) * channels + channel]
        }
      })
  }

  /// Precedes the sound that begins in a rate by its mirror image around the first frame, where a number of frames
  /// exists that is whole in both rates.
  private func extendStart(_ resampler: Resampler) throws {
    let (from, to) = (resampler.inputRate, resampler.outputRate)
    let common = Self.greatestCommonDivisor(from, to)
    let period = from / common
    let frames = min(Self.overlap, pending - 1) / period * period
    guard frames > 0 else { return }
    let (channels, samples) = (format.channels, converted.view.samples)
    let mirrored = (0..<frames * channels).map { index in
      let (distance, channel) = (frames - index / channels, index % channels)
      return 2 * samples[channel] - samples[distance * channels + channel]
    }
    lead = frames / period * (to / common)
    try mirrored.withUnsafeBufferPointer { input in
      var rest = input[...]
      while !rest.isEmpty {
        let (consumed, produced) = try resampler.process(
          UnsafeBufferPointer(rebasing: rest), into: waste.view.buffer)
        rest = rest.dropFirst(consumed * channels)
        lead -= produced
      }
    }
  }

  /// Converts the channels of the first `frames` frames of `raw`.
  private func convert(_ frames: Int) {
    let view = PCMView(samples: raw.view.samples, frames: frames, channels: sourceFormat.channels)
    ChannelConversion.convert(view, to: converted.view)
    guard resampler != nil else { return }
    let kept = min(frames, Self.overlap)
    let newest = converted.view.buffer[((frames - kept) * format.channels)..<(frames * format.channels)]
    let surplus = history.count + newest.count - Self.overlap * format.channels
    if surplus > 0 { history.removeFirst(surplus) }
    history.append(contentsOf: newest)
  }

  /// Restarts the conversion with frames of `newFormat`.
  private func adopt(_ newFormat: AudioFormat) throws {
    try adopt(channelsOf: newFormat)
    if newFormat.sampleRate == format.sampleRate {
      resampler = nil
    } else if let resampler, resampler.inputRate == newFormat.sampleRate {
      try resampler.reset()
    } else {
      resampler = try Resampler(from: newFormat.sampleRate, to: format.sampleRate, channels: format.channels)
    }
    start = 0
    pending = 0
    lead = 0
    history.removeAll(keepingCapacity: true)
    phase = .flowing
  }

  private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
    b == 0 ? a : greatestCommonDivisor(b, a % b)
  }
}
