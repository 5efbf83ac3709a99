internal import EventLoop
public import HeadsetLink

/// How full a headset's battery is.
public struct HeadsetBattery: Equatable, Sendable {
  /// 0 to 100.
  public var percent: Int
  /// Whether it is being charged.
  public var isCharging: Bool
}

/// How much of the surroundings each side lets in, from 0 up to what the headset can.
public struct HeadsetAmbient: Equatable, Sendable {
  /// The left side's.
  public var left: Int
  /// The right side's.
  public var right: Int
}

/// A headset's equalizer and the values of one preset.
public struct HeadsetEqualizer: Equatable, Sendable {
  /// The frequencies of the bands in hertz; 1 to 10.
  public var bands: [Double]
  /// What a band can be set to, in steps of the headset's own.
  public var range: ClosedRange<Int>
  /// The preset, from 0.
  public var preset: Int
  /// One for each band.
  public var values: [Int]
}

/// What a headset's equalizer is like: the same as long as it is connected.
struct EqualizerShape: Equatable {
  /// The most bands that there may be.
  static let mostBands = 10

  let hertz: [Double]
  let range: ClosedRange<Int>
  let presets: Int
}

/// What happens to a headset.
public enum HeadsetEvent: Equatable {
  /// It is connected, for the first time or again.
  case connected
  /// It is not connected any more, and why.
  case disconnected(String)
  /// It was not connected, and is not looked for any more.
  case released
  /// Noise cancelling was turned on or off, by whomever.
  case noiseCancelling(Bool)
  /// It lets in more or less of the surroundings.
  case ambient(left: Int, right: Int)
  /// The preset that sounds is another, or has other values.
  case equalizer(preset: Int, values: [Int])
  /// It goes over to its bootloader.
  case bootloader
  /// An update of its firmware is so far: 0 to 1, never less than before.
  case progress(Double)
  /// New firmware runs and stays.
  case updateCompleted(version: String)
  /// The battery is fuller or emptier, is charged or no more.
  case battery(HeadsetBattery)
  /// It is not tried to connect any more, for this is nothing that time mends.
  case error(HeadsetError)
}

/// What the configuration says of headsets.
public struct HeadsetSettings: Sendable, Equatable {
  /// Where the headset is that is meant when none is named.
  public var address: LinkAddress?
  /// The file of the key that is shared with it; nil for the development key.
  public var keyFile: String?
  /// The file of the public key that firmware must be signed for; nil for the development key.
  public var firmwareKeyFile: String?

  /// No headset, and the keys of development.
  public init() {}

  /// The key that is shared with headsets, read anew.
  /// - Throws: `auth` when the file can't be read or is no key.
  func key(file: String? = nil) throws(HeadsetError) -> LinkKey {
    guard let path = file ?? keyFile else { return .development }
    return try LinkKey(file: path)
  }

  /// Whose firmware headsets are given, read anew.
  /// - Throws: `updateFailed` with step "check" when the file can't be read or is no public key.
  func firmwareKey() throws(HeadsetError) -> VerifyingKey {
    guard let path = firmwareKeyFile else { return .development }
    do throws(HeadsetError) { return try VerifyingKey(file: path) } catch {
      throw HeadsetError(
        .updateFailed, error.message, hint: error.hint,
        facts: [ErrorFact("step", .string("check")), ErrorFact("reason", .string(error.message))])
    }
  }
}
