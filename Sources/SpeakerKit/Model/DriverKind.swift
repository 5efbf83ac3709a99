public import EventLoop

/// A kind of driver: its name, options and capabilities, how it is made, and how it is checked. Its values are the settings
/// of one.
public protocol DriverKind: Sendable {
  /// The name in the configuration.
  static var name: String { get }
  /// The options of `house { … }`, in the order of the help.
  static var options: [DriverOption] { get }
  /// The names of the capabilities of its drivers; a missing one raises `speaker.unsupported`.
  static var capabilities: Set<String> { get }
  /// The server that its speakers belong to, in one word; nil for the speakers of this machine.
  static var server: String? { get }
  /// Changes of levels that remain when the process ends.
  static var memory: LevelMemory { get }

  /// Reads the settings.
  /// - Throws: errors of `options`, `SpeakerError`.
  init(_ options: DriverOptions) throws
  /// Returns the settings for a configuration without any.
  /// - Throws: the reason why there are no such settings.
  static func usual() throws(SpeakerError) -> Self

  /// The limits of speakers, by their ids or names.
  var limits: [String: SpeakerLimit] { get }
  /// The output of the speakers in one line.
  var outputText: String { get }
  /// Creates a driver.
  func makeDriver(_ context: DriverContext) -> any Driver
  /// Checks the server without a change; waits for it, on a loop of its own. Any thread.
  /// - Throws: the reason why the house could not be opened.
  func probe() throws(SpeakerError) -> ServerState
}

extension DriverKind {
  /// Nil: the speakers are this machine's own.
  public static var server: String? { nil }
  /// `true` if the speakers are in this process. The server of any other driver knows its speakers, and plays for others
  /// as well.
  public static var isEmbedded: Bool { server == nil }
  /// Returns at once: no server is necessary.
  public func probe() throws(SpeakerError) -> ServerState { ServerState(text: outputText) }
}

/// The state of a server that was checked.
public struct ServerState: Sendable {
  /// The state in one line.
  public let text: String
  /// The names of limits that no speaker has, sorted.
  public private(set) var unknownLimits: [String] = []
}

extension ServerState {
  /// The state of a server whose speakers are known.
  init(text: String, _ speakers: [DeviceInfo], limits: [String: SpeakerLimit]) {
    self.init(text: text, unknownLimits: SpeakerLimits(limits).unknown(among: speakers))
  }
}

/// The kinds of drivers.
public enum DriverKinds {
  /// All kinds, the default one first.
  public static let all: [any DriverKind.Type] = [
    HouseSettings.self, SnapcastSettings.self, HubSettings.self,
  ]

  /// Returns the kind with a name in the configuration; nil for an unknown one.
  public static func named(_ name: String) -> (any DriverKind.Type)? { all.first { $0.name == name } }
}

/// Changes of levels that remain when no process has the house.
public enum LevelMemory: Sendable {
  /// The changes that the state folder keeps.
  case stateFolder
  /// All, in the server.
  case server
  /// Levels, in a server that knows no mute.
  case serverWithoutMute
}

/// An option of `house { … }`.
public struct DriverOption: Sendable {
  /// The form of the value: the type of the value is `String`, `Bool`, `Int`, `Duration`, `[Int]`,
  /// `DriverOptions` or `[DriverOptions]`.
  public enum Form: Sendable {
    case text
    /// A text of the length of a name.
    case name
    /// An absolute path, or one in the home folder.
    case path
    case bool
    case int(ClosedRange<Int>)
    case duration
    /// A list of at most `limit` whole numbers; `expected` is the error for another value.
    case ints(limit: Int, expected: String)
    /// A table with options.
    case table([DriverOption])
    /// A list of at most `limit` tables, each with options; `expected` is the error for another value.
    case tables(limit: Int, [DriverOption], expected: String)
  }

  /// The name of the option.
  public let name: String
  /// The form of its value.
  public let form: Form

  /// Creates an option.
  public init(_ name: String, _ form: Form) { (self.name, self.form) = (name, form) }
}

/// The values of options by their names. A value is checked when it is read.
public struct DriverOptions {
  private let read: (String) throws -> Any?
  private let refuse: (_ name: String, _ message: String, _ hint: String?) -> any Error

  /// Creates the options of a table.
  /// - Parameters:
  ///   - read: returns the value of an option in the type of its form, nil when it is absent; throws for one of another
  ///     form.
  ///   - refuse: returns the error for an option that is wrong.
  public init(
    read: @escaping (String) throws -> Any?,
    refuse: @escaping (_ name: String, _ message: String, _ hint: String?) -> any Error
  ) { (self.read, self.refuse) = (read, refuse) }

  /// Returns the error for an option that is wrong, with the position of its table.
  func problem(_ name: String, _ message: String, hint: String? = nil) -> any Error {
    refuse(name, message, hint)
  }

  /// Returns the value of an option, in the type of its form; nil when it is absent.
  func value<Value>(_ name: String) throws -> Value? { try read(name) as? Value }
}
