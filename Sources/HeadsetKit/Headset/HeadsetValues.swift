public import EventLoop
public import HeadsetLink

/// The state of a headset's battery.
public struct HeadsetBattery: Equatable, Sendable {
  /// The charge in percent, 0 to 100.
  public var percent: Int
  /// `true` while the battery is being charged.
  public var isCharging: Bool
}

/// The ambient levels: how much of the surroundings each side lets in, from 0 up to the headset's limit.
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
  /// The values that a band accepts, in steps of the headset's own.
  public var range: ClosedRange<Int>
  /// The preset, from 0.
  public var preset: Int
  /// A value for each band.
  public var values: [Int]
}

/// The shape of a headset's equalizer: constant during a connection.
struct EqualizerShape: Equatable {
  /// The most bands that there may be.
  static let mostBands = 10

  let hertz: [Double]
  let range: ClosedRange<Int>
  let presets: Int
}

/// An event of a headset.
public enum HeadsetEvent: Equatable, Sendable {
  /// The headset is connected, for the first time or again.
  case connected
  /// The connection has ended, for this reason.
  case disconnected(String)
  /// A headset without a connection is looked for no more.
  case released
  /// Noise cancelling was turned on or off, by whomever.
  case noiseCancelling(Bool)
  /// The ambient levels have changed.
  case ambient(left: Int, right: Int)
  /// The preset that sounds is another, or has other values.
  case equalizer(preset: Int, values: [Int])
  /// The board starts its bootloader.
  case bootloader
  /// An update of its firmware is so far: 0 to 1, never less than before.
  case progress(Double)
  /// New firmware runs and stays.
  case updateCompleted(version: String)
  /// The battery is fuller or emptier, is charged or no more.
  case battery(HeadsetBattery)
  /// A failure: an event that can't be read, or one that time does not mend, after which connecting ends.
  case error(HeadsetError)
}

/// The settings of headsets in the configuration.
public struct HeadsetSettings: Sendable, Equatable {
  /// The address of the headset when none is named.
  public var address: LinkAddress?
  /// The file of the key that is shared with it; nil for the development key.
  public var keyFile: String?
  /// The file of the public key that firmware must be signed for; nil for the development key.
  public var firmwareKeyFile: String?

  /// Creates settings without a headset, with the development keys.
  public init() {}

  /// The key that is shared with headsets, read anew.
  /// - Throws: `auth` when the file can't be read or is no key.
  func key(file: String? = nil) throws(HeadsetError) -> LinkKey {
    guard let path = file ?? keyFile else { return .development }
    return try LinkKey(file: path)
  }

  /// Returns the key that firmware must be signed for, read anew.
  /// - Throws: `updateFailed` with step "check" if the file can't be read or is no public key.
  func firmwareKey() throws(HeadsetError) -> VerifyingKey { try Self.firmwareKey(inFile: firmwareKeyFile) }

  /// Returns the key in a file that firmware must be signed for; the development key for nil.
  /// - Throws: `updateFailed` with step "check" if the file can't be read or is no public key.
  static func firmwareKey(inFile path: String?) throws(HeadsetError) -> VerifyingKey {
    guard let path else { return .development }
    do throws(HeadsetError) { return try VerifyingKey(file: path) } catch {
      throw HeadsetError(
        .updateFailed, error.message, hint: error.hint,
        facts: [ErrorFact("step", .string("check")), ErrorFact("reason", .string(error.message))])
    }
  }
}
