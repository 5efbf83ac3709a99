internal import AudioCore

/// Conversion of sources of 1 to 6 and 8 channels to stereo, or to stereo and six roles
/// (`AudioFormat.surround`).
///
/// **Stereo.** Mono is copied to both sides unchanged and stereo stays as it is, bit for bit. More channels
/// come in WAV order (L R C LFE Ls Rs …); centre and surrounds are added at −3 dB, LFE is left out, and the
/// sum is scaled so that it can't exceed full scale. Source: ITU-R BS.775-4, Annex 4.
///
/// **Roles.** Mono and stereo become front left = surround left = L, front right = surround right = R, centre
/// = LFE = (L + R)/2. A channel of a larger source reaches its role bit for bit; a role that the source lacks
/// is silent, and of 7.1 a surround role is the mean of the back and the side.
enum ChannelConversion {
  /// The largest number of channels of a source.
  static let mostChannels = 8

  private static let half = Float(0.5).squareRoot()

  /// The gains of each channel to the left and the right side, for the supported numbers of channels.
  private static func stereoGains(channels: Int) -> [(left: Float, right: Float)]? {
    let (left, right) = ((left: Float(1), right: Float(0)), (left: Float(0), right: Float(1)))
    let (centre, bass) = ((left: half, right: half), (left: Float(0), right: Float(0)))
    let (leftBack, rightBack) = ((left: half, right: Float(0)), (left: Float(0), right: half))
    let gains: [(left: Float, right: Float)]
    switch channels {
    case 1: return [(1, 1)]
    case 2: return [left, right]
    case 3: gains = [left, right, centre]
    case 4: gains = [left, right, leftBack, rightBack]
    case 5: gains = [left, right, centre, leftBack, rightBack]
    case 6: gains = [left, right, centre, bass, leftBack, rightBack]
    case 8: gains = [left, right, centre, bass, leftBack, rightBack, leftBack, rightBack]
    default: return nil
    }
    let scale = 1 / gains.reduce(0) { $0 + $1.left }
    return gains.map { ($0.left * scale, $0.right * scale) }
  }

  /// The channels of the source that each of the six roles averages.
  private static func roleChannels(of channels: Int) -> [[Int]] {
    switch channels {
    case 1: [[0], [0], [0], [0], [0], [0]]
    case 2: [[0], [1], [0, 1], [0, 1], [0], [1]]
    case 3: [[0], [1], [2], [], [], []]
    case 4: [[0], [1], [], [], [2], [3]]
    case 5: [[0], [1], [2], [], [3], [4]]
    case 6: [[0], [1], [2], [3], [4], [5]]
    case 8: [[0], [1], [2], [3], [4, 6], [5, 7]]
    default: []
    }
  }

  static func supports(channels: Int) -> Bool { stereoGains(channels: channels) != nil }

  /// Converts the frames of `source` to the start of `destination`, which has 2 channels or those of
  /// `AudioFormat.surround`, and room for them.
  static func convert(_ source: PCMView, to destination: PCMView) {
    if source.channels == 2 && destination.channels == 2 { return destination.copy(from: source) }
    if source.channels == 1 && destination.channels == 2 {
      for frame in 0..<source.frames {
        destination.samples[2 * frame] = source.samples[frame]
        destination.samples[2 * frame + 1] = source.samples[frame]
      }
      return
    }
    guard let gains = stereoGains(channels: source.channels) else { return destination.clear() }
    let roles = destination.channels > 2 ? roleChannels(of: source.channels) : []
    for frame in 0..<source.frames {
      let from = source.samples + frame * source.channels
      let to = destination.samples + frame * destination.channels
      var (left, right) = (Float(0), Float(0))
      for (channel, gain) in gains.enumerated() {
        left += from[channel] * gain.left
        right += from[channel] * gain.right
      }
      to[0] = left
      to[1] = right
      for (role, channels) in roles.enumerated() {
        let sum = channels.reduce(Float(0)) { $0 + from[$1] }
        to[2 + role] = channels.count > 1 ? sum / Float(channels.count) : sum
      }
    }
  }
}
