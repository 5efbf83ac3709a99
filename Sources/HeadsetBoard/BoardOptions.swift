internal import EventLoop
public import HeadsetLink

/// How an emulated board is made.
public struct BoardOptions: Sendable {
  /// The most bytes of the accessory's name.
  public static let longestName = 64

  /// true for a name that an accessory may have.
  public static func isName(_ text: String) -> Bool {
    (1...longestName).contains(text.utf8.count) && text.onOneLine == text
  }

  /// The accessory's own name; nil stands for "Roomtone" and the model.
  public var name: String?
  /// What it is like.
  public var profile = BoardProfile.standard
  /// The secret that it shares with its hosts.
  public var key = LinkKey.development
  /// Whose firmware it takes.
  public var trusted = VerifyingKey.development
  /// The folder that its state lies in; nil keeps it in memory.
  public var stateFolder: String?
  /// The firmware that it comes with from the factory; a folder that has a state keeps its own.
  public var version = FirmwareVersion("1.0.0") ?? .lowest
  /// How long its bootloader takes until it can be used.
  public var readyAfter = Duration.seconds(5)
  /// How long it takes to start.
  public var bootTime = Duration.milliseconds(50)
  /// What goes wrong with it.
  public var faults = BoardFaults()
  /// How full its battery is, in percent; as it was, or as its profile says, when nil.
  public var battery: Int?

  /// The usual board.
  public init() {}
}
