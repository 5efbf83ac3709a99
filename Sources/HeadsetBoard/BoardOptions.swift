public import EventLoop
public import HeadsetLink

/// The options of an emulated board.
public struct BoardOptions: Sendable {
  /// The most bytes of the accessory's name.
  public static let longestName = 64

  /// `true` for a name that an accessory may have.
  public static func isName(_ text: String) -> Bool {
    (1...longestName).contains(text.utf8.count) && text.onOneLine == text
  }

  /// The accessory's own name; "Roomtone" and the model when nil.
  public var name: String?
  /// The profile: model, abilities and equalizer.
  public var profile = BoardProfile.standard
  /// The secret that the board shares with its hosts.
  public var key = LinkKey.development
  /// The key that firmware must be signed for.
  public var trusted = VerifyingKey.development
  /// The folder of its state; nil keeps the state in memory.
  public var stateFolder: String?
  /// The firmware from the factory; a folder with a state keeps its own firmware.
  public var version = FirmwareVersion("1.0.0") ?? .lowest
  /// The time until its bootloader is ready.
  public var readyAfter = Duration.seconds(5)
  /// The duration of a start.
  public var bootTime = Duration.milliseconds(50)
  /// The faults that are injected.
  public var faults = BoardFaults()
  /// The charge of its battery in percent; when nil, the stored one or the profile's.
  public var battery: Int?

  /// Creates the options of the usual board.
  public init() {}
}

/// A kind of emulated board: model, abilities and equalizer.
public struct BoardProfile: Sendable, Equatable {
  /// A preset of the equalizer from the factory.
  struct Preset: Sendable, Equatable {
    let name: String
    let values: [Int8]
  }

  /// The name on the command line.
  public let name: String
  /// The purpose, one line.
  public let summary: String
  /// The model, as the board sends it in HELLO.
  let model: String
  var capabilities: Capabilities = [.noiseCancelling, .ambient, .equalizer, .battery, .firmwareUpdate]
  /// The frequencies of the equalizer's bands, in thousandths of a hertz.
  var millihertz: [UInt32] = standardBands
  var lowest: Int8 = -12
  var highest: Int8 = 12
  var ambientLimits = AmbientLimits(left: 7, right: 7)
  var battery = Battery(percent: 80, isCharging: false)
  /// The delay of each answer.
  var answerDelay = Duration.zero

  init(_ name: String, model: String = "RT-1", _ summary: String) {
    (self.name, self.model, self.summary) = (name, model, summary)
  }

  /// The presets, with a value for each band.
  var presets: [Preset] {
    let curves: [(String, [Int8])] = [
      ("music", [4, 3, 2, 0, -1, 0, 1, 2, 3, 4]), ("movie", [6, 5, 3, 1, 0, 1, 2, 3, 3, 2]),
      ("voice", [-6, -4, -2, 1, 4, 5, 4, 2, 0, -2]), ("user", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ]
    return curves.map { name, curve in
      Preset(name: name, values: millihertz.indices.map { $0 < curve.count ? curve[$0] : 0 })
    }
  }

  /// Ten bands of one octave each, from 31.25 Hz on.
  private static let standardBands = (0..<10).map { UInt32(31_250) << UInt32($0) }
}

extension BoardProfile {
  /// The usual board: ten bands and all capabilities.
  public static let standard = BoardProfile("standard", "the usual board: ten bands, four presets")

  /// The list of profiles.
  public static let all: [BoardProfile] = [
    standard,
    changed("no-bands", model: "RT-1N", "its equalizer has no bands") { $0.millihertz = [] },
    changed("one-band", model: "RT-1B", "its equalizer has one band") { $0.millihertz = [1_000_000] },
    changed("eleven-bands", model: "RT-11", "its equalizer has more bands than hosts accept") {
      $0.millihertz = (0..<11).map { UInt32(20_000) << UInt32($0) }
    },
    changed("no-ambient", model: "RT-1C", "lets no surroundings in") {
      $0.capabilities.remove(.ambient)
    },
    changed("no-noise-cancelling", model: "RT-1O", "cancels no noise") {
      $0.capabilities.remove(.noiseCancelling)
    },
    changed("no-battery", model: "RT-1W", "has a cable and no battery") {
      $0.capabilities.remove(.battery)
    },
    changed("slow", "takes 300 ms for each answer") { $0.answerDelay = .milliseconds(300) },
    changed("asymmetric", model: "RT-1A", "lets in more of the surroundings on its left side") {
      $0.ambientLimits = AmbientLimits(left: 10, right: 4)
    },
  ]

  /// The profile called `name`.
  /// - Throws: `profile`, which names the nearest one.
  public init(named name: String) throws(BoardError) {
    guard let profile = Self.all.first(where: { $0.name == name }) else {
      throw .unknown(.profile, "profile", name, among: Self.all.map(\.name))
    }
    self = profile
  }

  private static func changed(
    _ name: String, model: String = "RT-1", _ summary: String, _ change: (inout BoardProfile) -> Void
  ) -> BoardProfile {
    var profile = BoardProfile(name, model: model, summary)
    change(&profile)
    return profile
  }
}
