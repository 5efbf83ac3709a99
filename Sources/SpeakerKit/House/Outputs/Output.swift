public import EventLoop

/// An output of an embedded house's speakers.
public struct Output: Sendable, Equatable {
  /// The kinds of outputs, the default one first.
  static let kinds: [any OutputKind.Type] = [CardOutput.self, WAVOutput.self, NullOutput.self]

  let kind: any OutputKind

  /// No output; time passes as if the speakers sounded.
  public static let null = Output(kind: NullOutput())
  /// Returns the output in a folder with one WAV file per speaker, 16 bit.
  public static func wav(folder: String) -> Output { Output(kind: WAVOutput(folder: folder)) }
  /// Returns the output on an ALSA sound card that all speakers share.
  public static func alsa(device: String) -> Output { Output(kind: CardOutput(device: device)) }

  private init(kind: any OutputKind) { self.kind = kind }

  /// Reads one of `forms`.
  /// - Throws: `speaker.unsupported` for anything else.
  public init(parsing text: String) throws(SpeakerError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let detail = parts.count == 2 ? parts[1] : nil
    guard let kind = Self.kinds.first(where: { $0.name == parts[0] && $0.form.accepts(detail) }) else {
      throw SpeakerError(
        .unsupported, "\"\(text)\" is not an output",
        hint: parts[0].hasSuffix("hw") && detail?.isEmpty == false
          ? "did you mean \"alsa:\(text)\"?"
          : "outputs are \(Self.list(Self.kinds.reversed().flatMap { $0.texts }, "and"))",
        facts: [.init("output", .string(text))])
    }
    self.init(kind: kind.init(detail))
  }

  /// The text form, as read by `init(parsing:)`.
  public var text: String {
    let name = type(of: kind).name
    return kind.detail.map { "\(name):\($0)" } ?? name
  }

  /// The names of the kinds, with the forms of their texts.
  public static var forms: [(name: String, form: OutputForm)] { kinds.map { ($0.name, $0.form) } }
  /// The texts of all outputs, for people: `alsa, alsa:DEVICE, wav:DIR or null`.
  public static var summary: String { list(kinds.flatMap { $0.texts }, "or") }

  private static func list(_ texts: [String], _ word: String) -> String {
    "\(texts.dropLast().joined(separator: ", ")) \(word) \(texts.last ?? "")"
  }

  /// Checks the output, which is opened for a moment.
  public func probe() -> OutputState { kind.probe() }

  /// Returns `true` for outputs of the same text.
  public static func == (one: Output, other: Output) -> Bool { one.text == other.text }
}

/// The text of a kind of output.
public enum OutputForm: Sendable {
  /// The name of the kind alone.
  case bare
  /// The name, or the name and a device; the associated word stands for the device.
  case device(String)
  /// The name and the path of a folder; the associated word stands for the path.
  case folder(String)

  /// `true` if the text contains a path.
  public var hasPath: Bool {
    switch self {
    case .bare, .device: false
    case .folder: true
    }
  }

  fileprivate func accepts(_ detail: String?) -> Bool {
    switch self {
    case .bare: detail == nil
    case .device: detail?.isEmpty != true
    case .folder: detail?.isEmpty == false
    }
  }
}

/// The state of an output.
public enum OutputState: Sendable {
  case ready(String)
  /// The output is ready if `least` bytes can be written into a folder.
  case folder(String, least: Int)
  case failed(String, hint: String?)
}

/// A kind of output: its text, how it is made and how it is checked. Its values are outputs.
protocol OutputKind: Sendable {
  /// The name, with which its text begins.
  static var name: String { get }
  /// The form of its text.
  static var form: OutputForm { get }

  /// Creates an output from the part of its text after the colon; nil for a text without one.
  init(_ detail: String?)
  /// The part of the text after the colon; nil for a text without one.
  var detail: String? { get }
  /// The ALSA device that speakers share; nil for an output on no card.
  var card: String? { get }
  /// `true` if the output is for all speakers: none can have a card of its own besides.
  var isForAllSpeakers: Bool { get }

  /// Creates the renderer of a house in real time.
  /// - Throws: `audio.no_output`.
  func makeRenderer(_ factory: RendererFactory) async throws -> any Renderer
  /// Creates the renderer of a house in virtual time, where no hardware is used.
  /// - Throws: `audio.no_output`.
  func makeVirtualRenderer(_ factory: RendererFactory) throws -> any Renderer
  /// Checks the output, which is opened for a moment.
  func probe() -> OutputState
}

extension OutputKind {
  /// The texts of the kind, with the words of its form.
  fileprivate static var texts: [String] {
    switch form {
    case .bare: [name]
    case .device(let word): [name, "\(name):\(word)"]
    case .folder(let word): ["\(name):\(word)"]
    }
  }

  var card: String? { nil }
  var isForAllSpeakers: Bool { false }
  /// Returns a renderer that counts frames.
  func makeVirtualRenderer(_ factory: RendererFactory) throws -> any Renderer { factory.arithmetic }
}
