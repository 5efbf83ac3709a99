internal import AudioCore
internal import EventLoop

/// The settings of the driver `house`: the speakers of this machine, and where they sound.
public struct HouseSettings: DriverKind, Equatable {
  /// The output of the speakers without one of their own.
  public var output = Output.alsa(device: "default")
  /// `true` if the configuration names the output.
  public var namesOutput = false
  /// The speakers; nil for the demonstration house of six speakers in four rooms.
  public var speakers: [SpeakerSpec]?

  /// The demonstration house on the sound card.
  public init() {}

  /// Reads the speakers and their outputs.
  /// - Throws: errors of `options`; `speaker.unsupported` for a text that is not an output.
  public init(_ options: DriverOptions) throws { try read(options) }

  /// Reads options in place of those of an earlier section; an output remains when the speakers are wrong.
  /// - Throws: as `init`.
  public mutating func read(_ options: DriverOptions) throws {
    if let text: String = try options.value("output") {
      output = try Output(parsing: text)
      namesOutput = true
    }
    guard let tables: [DriverOptions] = try options.value("speakers") else { return }
    let speakers = try tables.map { try SpeakerSpec($0) }
    var names: Set<String> = []
    for (speaker, table) in zip(speakers, tables) where !names.insert(speaker.name).inserted {
      throw table.problem(
        "name", "two speakers are called \(quoted(speaker.name))", hint: "give each speaker a name of its own"
      )
    }
    do throws(CardPlan.Problem) { _ = try CardPlan(speakers, output: output) } catch {
      throw tables[error.speaker].problem(
        error.option, "\(quoted(speakers[error.speaker].name)): \(error.message)")
    }
    self.speakers = speakers
  }

  /// Sends the sound of all speakers to `output`, in place of their outputs.
  public mutating func use(_ output: Output) {
    self.output = output
    speakers = speakers?.map(\.onHouseOutput)
  }
}

extension HouseSettings {
  /// The name in the configuration: `"house"`.
  public static let name = "house"
  /// The output, and a table for each speaker.
  public static let options = [
    DriverOption("output", .text),
    DriverOption(
      "speakers",
      .tables(limit: 256, SpeakerSpec.options, expected: "a list of at most 256 speakers expected")),
  ]
  /// All capabilities.
  public static let capabilities: Set<String> = [
    "volume", "mute", "join", "play", "pause", "seek", "loop", "role", "balance", "sessions",
    "rename", "group", "refresh", "wifi", "controls",
    "gain", "fade", "equalizer", "interrupt", "duck", "snapshot",
  ]
  /// Levels are kept in the state folder.
  public static let memory = LevelMemory.stateFolder

  /// Returns the demonstration house.
  public static func usual() -> HouseSettings { HouseSettings() }

  /// The limits of the speakers by their ids.
  public var limits: [String: SpeakerLimit] {
    var limits: [String: SpeakerLimit] = [:]
    for speaker in speakers ?? [] { limits[HouseSpeakers.id(of: speaker.name)] = speaker.limit }
    return limits
  }

  /// The outputs of the speakers, as in `alsa and alsa:hw:1`.
  public var outputText: String { (try? CardPlan(speakers ?? [], output: output))?.text ?? output.text }

  /// Creates the driver of the house.
  public func makeDriver(_ context: DriverContext) -> any Driver {
    HouseDriver(context, speakers: speakers, output: output)
  }
}

extension SpeakerSpec {
  /// The options of a speaker.
  static let options =
    [
      DriverOption("name", .name), DriverOption("group", .name), DriverOption("role", .text),
      DriverOption("volume", .int(House.volumeRange)), DriverOption("balance", .int(-6...6)),
      DriverOption("output", .text), DriverOption("channels", .ints(limit: 2, expected: expectedChannels)),
      DriverOption("delay", .duration),
    ] + SpeakerLimit.options
  private static let expectedChannels = "one or two channels expected, counted from 1, as in { 3, 4 }"

  fileprivate init(_ options: DriverOptions) throws {
    guard let name: String = try options.value("name"), !name.isEmpty else {
      throw options.problem("name", "a name is missing")
    }
    let group: String? = try options.value("group")
    for (option, given) in [("name", name), ("group", group ?? name)] {
      if let problem = NameRule.problem(with: given) {
        throw options.problem(option, "it \(problem)")
      }
    }
    var role = ChannelRole.stereo
    if let given: String = try options.value("role") {
      guard let known = ChannelRole(rawValue: given) else {
        throw options.problem(
          "role", unknown("role", given, among: ChannelRole.allCases.map(\.rawValue)))
      }
      role = known
    }
    let volume: Int = try options.value("volume") ?? 25
    let balance: Int = try options.value("balance") ?? 0
    var output: Output?
    if let text: String = try options.value("output") {
      do throws(SpeakerError) { output = try Output(parsing: text) } catch {
        throw options.problem("output", error.message, hint: error.hint)
      }
    }
    let channels: [Int]? = try options.value("channels")
    guard channels?.isEmpty != true else {
      throw options.problem("channels", Self.expectedChannels)
    }
    let delay: Duration = try options.value("delay") ?? .zero
    guard CardPlan.delays.contains(delay) else {
      throw options.problem("delay", "0 to 500 ms expected")
    }
    self.init(
      name: name, group: group, role: role, volume: volume, balance: balance, output: output,
      channels: channels ?? [], delay: delay)
    limit = try SpeakerLimit.read(options)
  }
}
