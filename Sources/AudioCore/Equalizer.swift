internal import Glibc

/// Ten bands of gain, an octave apart.
///
/// Each band is a peaking filter of one octave's width, in series; at 0 dB in all bands samples pass bit for
/// bit. Changes are heard within one block of 20 ms and make no click: the sound with the old filters fades
/// into the sound with the new ones. A change during a fade follows it; the last of several pending changes
/// counts.
///
/// Bands above half the sample rate do nothing. Gains above 0 dB can exceed full scale: a `Limiter` follows.
/// Owns its memory; created and changed by one thread at a time, `process` and `apply` are for the audio
/// thread.
///
/// Source: R. Bristow-Johnson, "Cookbook formulae for audio EQ biquad filter coefficients", peakingEQ with
/// bandwidth; ISO 266 for the frequencies. Filters run in transposed direct form II, in double precision,
/// since at 31 Hz the poles are so near 1 that single precision would be heard.
public struct Equalizer: ~Copyable {
  /// The coefficients of the ten bands for one sample rate: the value that a change sends to the audio
  /// thread.
  ///
  /// A trivial value. Created away from the audio thread, since it computes sines and powers.
  public struct Setting: BitwiseCopyable, Sendable {
    let bands: InlineArray<10, Biquad>
    /// The active bands, as bits.
    let active: UInt16
    /// The largest factor for the amplitude of a tone, 1 or more, exact to a hundredth of a decibel; 1 if it is not known.
    public private(set) var peak: Float

    /// Creates the filters for `gains` at a sample rate in Hz.
    /// - Parameter findsPeak: `true` if the largest factor is computed, which takes far longer than the filters.
    public init(_ gains: EqualizerGains, sampleRate: Int, findsPeak: Bool = true) {
      var bands = InlineArray<10, Biquad>(repeating: Biquad())
      var active: UInt16 = 0
      for (index, frequency) in EqualizerGains.frequencies.enumerated() {
        guard gains[index] != 0, frequency < 0.49 * Double(sampleRate) else { continue }
        bands[index] = Biquad(peak: frequency, gain: gains[index], sampleRate: Double(sampleRate))
        active |= 1 << UInt16(index)
      }
      self.bands = bands
      self.active = active
      peak = 1
      if findsPeak, active != 0 { peak = Float(findPeak(sampleRate: Double(sampleRate))) }
    }

    /// Returns the largest factor for the amplitude of a tone, 1 or more: twelve tones an octave are looked at, then the
    /// vertex of the parabola through each of them that is louder than its neighbours, and these.
    private func findPeak(sampleRate: Double) -> Double {
      func level(_ step: Double) -> Double {
        let tone = Biquad.Tone(2 * .pi * 15.625 * exp2(step / 12) / sampleRate)
        var power = 1.0
        for band in 0..<10 where active & 1 << UInt16(band) != 0 { power *= bands[band].power(of: tone) }
        return log10(power)
      }
      let octaves = log2(sampleRate / 2 / 15.625)
      let levels = stride(from: 0, to: min(11, octaves) * 12, by: 1).map(level)
      var peak = max(0, levels.max() ?? 0)
      for (step, here) in levels.enumerated().dropFirst().dropLast() {
        let (before, after) = (levels[step - 1], levels[step + 1])
        let curve = before - 2 * here + after
        guard here >= before, here >= after, curve < 0 else { continue }
        peak = max(peak, level(Double(step) + (before - after) / (2 * curve)))
      }
      return pow(10, peak / 2)
    }

    /// `true` if samples pass bit for bit.
    public var isFlat: Bool { @_noLocks get { active == 0 } }
  }

  /// `true` if samples pass bit for bit now: no band is active and no change is pending or fading.
  public var isTransparent: Bool { @_noLocks get { current.isFlat && remaining == 0 && !isWaiting } }

  /// The number of channels with histories.
  private let channels: Int
  /// The number of frames of a crossfade.
  private let fade: Int
  private var current: Setting
  /// The setting that fades out, while `remaining` frames of the fade are left.
  private var previous: Setting
  private var remaining = 0
  private var waiting: Setting
  private var isWaiting = false
  /// `Setting.peak` of the setting that is heard.
  private var peak: GainRamp
  /// The largest factors for the amplitude of a tone, frame by frame from the first one of the last `process`.
  public private(set) var envelope: GainRamp
  /// The histories of the current filters, then those of the previous ones: two numbers a band and channel.
  private let state: UnsafeMutablePointer<Double>

  /// Creates an equalizer at rest.
  /// - Parameter gains: the initial gains.
  public init(format: AudioFormat, gains: EqualizerGains = .flat) {
    channels = max(1, format.channels)
    fade = max(1, format.framesPerBlock)
    current = Setting(gains, sampleRate: format.sampleRate)
    (previous, waiting) = (current, current)
    peak = GainRamp(gain: current.peak, length: fade)
    envelope = peak
    state = .allocate(capacity: 40 * channels)  // freed in deinit
    state.initialize(repeating: 0, count: 40 * channels)
  }

  deinit { state.deallocate() }

  /// Schedules a change to `setting`, which was created for this equalizer's sample rate.
  @_noLocks public mutating func apply(_ setting: Setting) {
    waiting = setting
    isWaiting = true
  }

  /// Applies the pending setting without a fade and clears the histories: for sound that is inaudible.
  @_noLocks public mutating func settle() {
    if isWaiting { current = waiting }
    isWaiting = false
    remaining = 0
    peak.jump(to: current.peak)
    var index = 0
    while index < 40 &* channels {
      state[index] = 0
      index &+= 1
    }
  }

  /// Filters the frames of `view` in place; it has the rate of the equalizer, and at most its channels.
  @_noLocks public mutating func process(_ view: PCMView) {
    if remaining == 0 && isWaiting { begin() }
    envelope = peak
    peak.skip(frames: view.frames)
    var rest = view
    while rest.frames > 0 {
      if remaining == 0 && isWaiting { begin() }
      if remaining > 0 {
        let piece = rest.prefix(remaining)
        crossfade(piece)
        rest = rest.dropFirst(piece.frames)
      } else {
        if !current.isFlat { filter(rest) }
        return
      }
    }
  }

  /// Begins the fade to the pending setting. Its filters start with the histories of the old ones, which are
  /// close to their own.
  @_noLocks private mutating func begin() {
    isWaiting = false
    if waiting.isFlat && current.isFlat { return }
    previous = current
    current = waiting
    peak.move(to: current.peak)
    remaining = fade
    let half = 20 &* channels
    var index = 0
    while index < half {
      state[half &+ index] = state[index]
      index &+= 1
    }
    // A band that was off has the history of silence.
    var band = 0
    while band < 10 {
      let isNew = previous.active & 1 << UInt16(truncatingIfNeeded: band) == 0
      var channel = 0
      while isNew && channel < channels {
        let index = (channel &* 10 &+ band) &* 2
        state[index] = 0
        state[index &+ 1] = 0
        channel &+= 1
      }
      band &+= 1
    }
  }

  @_noLocks private mutating func filter(_ view: PCMView) {
    var band = 0
    while band < 10 {
      if current.active & 1 << UInt16(truncatingIfNeeded: band) != 0 {
        let (filter, channels) = (current.bands[band], view.channels)
        var channel = 0
        while channel < channels {
          let state = self.state + (channel &* 20 &+ band &* 2)
          // Each output waits for the previous one; two channels wait side by side.
          if channel &+ 1 < channels {
            filter.run(view.samples + channel, view.frames, channels, state, state + 20)
            channel &+= 2
          } else {
            filter.run(view.samples + channel, view.frames, channels, state)
            channel &+= 1
          }
        }
      }
      band &+= 1
    }
  }

  /// Filters frames of the fade: both settings, weighted.
  @_noLocks private mutating func crossfade(_ view: PCMView) {
    let (scale, half) = (1 / Double(fade), 20 &* channels)
    let channels = view.channels
    var frame = 0
    while frame < view.frames {
      remaining &-= 1
      let new = 1 - Double(remaining) * scale
      var channel = 0
      while channel < channels {
        let index = frame &* channels &+ channel
        let input = Double(view.samples[index])
        let after = current.next(input, state + channel &* 20)
        let before = previous.next(input, state + (half &+ channel &* 20))
        view.samples[index] = Float(after * new + before * (1 - new))
        channel &+= 1
      }
      frame &+= 1
    }
  }
}

extension Equalizer.Setting {
  /// Filters one sample through all bands; `state` has two numbers a band.
  @_noLocks fileprivate func next(_ input: Double, _ state: UnsafeMutablePointer<Double>) -> Double {
    var value = input
    var band = 0
    while band < 10 {
      if active & 1 << UInt16(truncatingIfNeeded: band) != 0 {
        value = bands[band].next(value, state + band &* 2)
      }
      band &+= 1
    }
    return value
  }
}
