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
  /// The level of the left side.
  public var left: Int
  /// The level of the right side.
  public var right: Int
}

/// A headset's equalizer and the values of one preset.
public struct HeadsetEqualizer: Equatable, Sendable {
  /// The frequencies of the bands in hertz; 1 to 10.
  public var bands: [Double]
  /// The values that a band accepts, in the headset's own steps.
  public var range: ClosedRange<Int>
  /// The preset, from 0.
  public var preset: Int
  /// A value for each band.
  public var values: [Int]
}

/// The shape of a headset's equalizer: constant during a connection.
struct EqualizerShape: Equatable {
  /// The most bands of an equalizer.
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
  /// No more attempts are made to connect a headset without a connection.
  case released
  /// Noise cancelling was turned on or off, by the wearer or a host.
  case noiseCancelling(Bool)
  /// The ambient levels have changed.
  case ambient(left: Int, right: Int)
  /// Another preset is selected, or the selected one has other values.
  case equalizer(preset: Int, values: [Int])
  /// The board starts its bootloader.
  case bootloader
  /// The progress of a firmware update: 0 to 1, never less than before.
  case progress(Double)
  /// New firmware runs and is confirmed.
  case updateCompleted(version: String)
  /// The charge of the battery has changed, or charging has begun or ended.
  case battery(HeadsetBattery)
  /// A failure: an event that can't be read, or a lasting failure, after which no more attempts are made.
  case error(HeadsetError)
}

/// The settings of headsets in the configuration.
public struct HeadsetSettings: Sendable, Equatable {
  /// The address of the headset for calls that name none.
  public var address: LinkAddress?
  /// The file of the key that is shared with the headset; nil for the development key.
  public var keyFile: String?
  /// The file of the public key that firmware must be signed for; nil for the development key.
  public var firmwareKeyFile: String?

  /// Creates settings without a headset, with the development keys.
  public init() {}

  /// Reads the key that is shared with headsets.
  /// - Throws: `auth` when the file can't be read or is not a key.
  func key(file: String? = nil) throws(HeadsetError) -> LinkKey {
    guard let path = file ?? keyFile else { return .development }
    return try LinkKey(file: path)
  }

  /// Reads the key that firmware must be signed for.
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
