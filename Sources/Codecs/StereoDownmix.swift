internal import AudioCore

/// How sources of 1 to 6 and 8 channels become stereo.
///
/// Mono goes to both sides unchanged and stereo stays as it is, bit for bit. More channels come in WAV order
/// (L R C LFE Ls Rs …); centre and surrounds are added at −3 dB, LFE is left out, and the sum is scaled so that
/// it can't exceed full scale. Source: ITU-R BS.775-4, Annex 4.
enum StereoDownmix {
  /// No source that is converted has more.
  static let mostChannels = 8

  private static let half = Float(0.5).squareRoot()

  /// Gain of each channel to the left side, and the same to the right, for the numbers of channels that exist.
  private static func gains(channels: Int) -> [(left: Float, right: Float)]? {
    let (left, right) = ((left: Float(1), right: Float(0)), (left: Float(0), right: Float(1)))
    let (centre, bass) = ((left: half, right: half), (left: Float(0), right: Float(0)))
    let (leftBack, rightBack) = ((left: half, right: Float(0)), (left: Float(0), right: half))
    switch channels {
    case 3: return [left, right, centre]
    case 4: return [left, right, leftBack, rightBack]
    case 5: return [left, right, centre, leftBack, rightBack]
    case 6: return [left, right, centre, bass, leftBack, rightBack]
    case 8: return [left, right, centre, bass, leftBack, rightBack, leftBack, rightBack]
    default: return nil
    }
  }

  static func supports(channels: Int) -> Bool {
    channels == 1 || channels == 2 || gains(channels: channels) != nil
  }

  /// Converts the frames of `source` to the start of `destination`, which is stereo and has room for them.
  static func convert(_ source: PCMView, to destination: PCMView) {
    switch source.channels {
    case 2: destination.copy(from: source)
    case 1:
      for frame in 0..<source.frames {
        destination.samples[2 * frame] = source.samples[frame]
        destination.samples[2 * frame + 1] = source.samples[frame]
      }
    default: mixDown(source, to: destination)
    }
  }

  private static func mixDown(_ source: PCMView, to destination: PCMView) {
    guard let gains = gains(channels: source.channels) else { return destination.clear() }
    let scale = 1 / gains.reduce(0) { $0 + $1.left }
    for frame in 0..<source.frames {
      var (left, right) = (Float(0), Float(0))
      for (channel, gain) in gains.enumerated() {
        let sample = source.samples[frame * source.channels + channel]
        left += sample * gain.left
        right += sample * gain.right
      }
      destination.samples[2 * frame] = left * scale
      destination.samples[2 * frame + 1] = right * scale
    }
  }
}
