internal import AudioCore
internal import EventLoop

/// An ALSA sound card that all speakers share.
struct CardOutput: OutputKind {
  static let name = "alsa"
  static let form = OutputForm.device("DEVICE")
  private static let usual = "default"

  /// ALSA's name of the card.
  let device: String
  var detail: String? { device == Self.usual ? nil : device }
  var card: String? { device }

  init(device: String) { self.device = device }
  init(_ detail: String?) { device = detail ?? Self.usual }

  func makeRenderer(_ factory: RendererFactory) async throws -> any Renderer {
    let (format, device) = (factory.format, device)
    return try await factory.mixed { try ALSASink(device: device, format: format) }
  }

  func probe() -> OutputState {
    let cards = SoundCards.names
    let listed = cards.isEmpty ? "no sound card" : "cards: \(cards.joined(separator: ", "))"
    do throws(AudioError) {
      try SoundCards.open(device)
      return .ready("\"\(device)\" opens; \(listed)")
    } catch {
      return .failed(
        "\(error.message); \(listed)",
        hint: SoundCards.libraryFailure != nil
          ? nil
          : cards.isEmpty
            ? "without a card, --output null or wav:DIR takes the sound"
            : "`aplay -L` lists the devices; the user must be in the group audio")
    }
  }
}
