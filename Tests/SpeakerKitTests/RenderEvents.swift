import EventLoop

@testable import SpeakerKit

/// The events of a renderer, as they come.
final class RenderEvents: RenderObserver {
  private(set) var ended = 0
  private(set) var troubles: [String] = []
  /// Card and `true` when it is back: `0 true`.
  private(set) var cards: [String] = []

  func receive(_ event: RenderEvent) {
    switch event {
    case .ended: ended += 1
    case .trouble(let error, _): troubles.append(error.message)
    case .card(let card, let loss): cards.append("\(card) \(loss == nil)")
    }
  }
}
