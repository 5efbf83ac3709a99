public import EventLoop

/// The output of an embedded house's speakers.
public enum Output: Sendable, Equatable {
  /// No output; time passes as if they sounded.
  case null
  /// A folder with one WAV file per speaker, 16 bit.
  case wav(folder: String)
  /// An ALSA sound card that all speakers share.
  case alsa(device: String)

  /// Reads `null`, `wav:DIR`, `alsa`, `alsa:DEVICE`.
  /// - Throws: `speaker.unsupported` for anything else.
  public init(parsing text: String) throws(SpeakerError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let detail = parts.count == 2 ? parts[1] : ""
    switch (parts[0], detail.isEmpty) {
    case ("null", true) where parts.count == 1: self = .null
    case ("wav", false): self = .wav(folder: detail)
    case ("alsa", true) where parts.count == 1: self = .alsa(device: "default")
    case ("alsa", false): self = .alsa(device: detail)
    default:
      throw SpeakerError(
        .unsupported, "\"\(text)\" is not an output",
        hint: parts[0].hasSuffix("hw") && !detail.isEmpty
          ? "did you mean \"alsa:\(text)\"?" : "outputs are null, wav:DIR, alsa and alsa:DEVICE",
        facts: [.init("output", .string(text))])
    }
  }

  /// Text form, as read by `init(parsing:)`.
  public var text: String {
    switch self {
    case .null: "null"
    case .wav(let folder): "wav:\(folder)"
    case .alsa("default"): "alsa"
    case .alsa(let device): "alsa:\(device)"
    }
  }
}
