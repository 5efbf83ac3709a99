public import HeadsetLink

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
