internal import HeadsetLink

/// What goes wrong with a board on purpose.
public struct BoardFaults: Sendable, Equatable {
  /// Where the dice begin.
  var seed: UInt64 = 1

  // Of a frame, in either direction: how likely it is, from 0 to 1.
  var drop = 0.0
  var duplicate = 0.0
  /// One of its bits is turned.
  var corrupt = 0.0
  /// It comes late, and all that comes behind it.
  var delay = 0.0
  var delayTime = Duration.milliseconds(300)
  /// It comes in pieces.
  var split = 0.0
  /// It comes together with the next one.
  var merge = 0.0
  /// The link ends behind it.
  var disconnect = 0.0

  /// The link ends at this byte of all that comes and goes, from 1, once.
  var disconnectAt: Int?
  /// So often the board does not go to its bootloader.
  var stays = 0
  /// Bytes of a challenge.
  var challengeLength = LinkHandshake.length
  /// The board tells of one band fewer than it said it has.
  var hidesBand = false
  /// Where the power is lost.
  var death = SteppedStore.Death()

  /// Nothing.
  public init() {}

  /// Whether frames suffer.
  var touchLink: Bool {
    [drop, duplicate, corrupt, delay, split, merge, disconnect].contains { $0 > 0 } || disconnectAt != nil
  }
}
