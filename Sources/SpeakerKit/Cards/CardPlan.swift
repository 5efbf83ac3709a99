internal import AudioCore
internal import EventLoop

/// The sound cards of a house, and the channels of its speakers on them. The first card is the clock of the
/// house.
public struct CardPlan: Sendable, Equatable {
  /// A sound card.
  public struct Card: Sendable, Equatable {
    /// ALSA's name of the card.
    public let device: String
    /// The number of channels that speakers use, counted from the first.
    public fileprivate(set) var channels = 0
    /// The indices of the speakers on the card.
    public fileprivate(set) var speakers: [Int] = []
    /// Frames by which each channel is late.
    fileprivate(set) var delays: [Int] = []
    /// `true` if speakers share a channel: their sum is limited.
    fileprivate(set) var isShared = false
  }

  /// The refusal of a speaker's settings.
  public struct Problem: Error {
    /// The index of the speaker.
    public let speaker: Int
    /// The option that is wrong: `output`, `channels` or `delay`.
    public let option: String
    /// One line for a person.
    public let message: String
  }

  /// The range of delays.
  public static let delays = Duration.zero ... .milliseconds(500)
  /// The maximum number of channels of a card.
  public static let mostChannels = 64

  /// Cards in the order of the speakers that name them first.
  public private(set) var cards: [Card] = []
  /// The route of each speaker.
  private(set) var routes: [CardRoute] = []
  /// The route of speakers that are added later: the pair of the house's own card.
  private(set) var fallback = CardRoute.none

  /// Creates the plan of a house.
  /// - Parameters:
  ///   - specs: the configured speakers.
  ///   - output: the output of speakers without one of their own.
  /// - Throws: `Problem` for the first speaker whose settings don't fit.
  public init(_ specs: [SpeakerSpec], output: Output) throws(Problem) {
    for (index, spec) in specs.enumerated() {
      guard let device = try Self.device(of: spec, index, output) else {
        routes.append(.none)
        continue
      }
      let card = cards.firstIndex { $0.device == device } ?? cards.count
      if card == cards.count { cards.append(Card(device: device)) }
      try add(spec, index, to: card, specs)
    }
    if let device = output.kind.card, let card = cards.firstIndex(where: { $0.device == device }),
      cards[card].channels >= 2
    {
      fallback = CardRoute(card: card, left: 0, right: 1)
      // A later speaker would share the pair.
      cards[card].isShared = true
    }
  }

  /// The cards in one line, as in `alsa and alsa:hw:1`; nil without one.
  public var text: String? {
    cards.isEmpty ? nil : cards.map { Output.alsa(device: $0.device).text }.joined(separator: " and ")
  }

  /// Returns the output of a speaker in one line, as in `alsa:hw:2,0 channels 3 and 4, 12 ms late`; nil without a
  /// card.
  func text(ofSpeaker index: Int) -> String? {
    guard routes.indices.contains(index), routes[index].card >= 0 else { return nil }
    let (route, card) = (routes[index], cards[routes[index].card])
    var text = Output.alsa(device: card.device).text
    if route.right < 0 {
      text += " channel \(route.left + 1)"
    } else if route.left != 0 || route.right != 1 {
      text += " channels \(route.left + 1) and \(route.right + 1)"
    }
    let late = card.delays[route.left] * 1_000 / AudioFormat.session.sampleRate
    return late > 0 ? "\(text), \(late) ms late" : text
  }

  /// `true` for one card of two channels that all speakers share, without delays.
  var isPlain: Bool {
    cards.count == 1 && cards[0].channels == 2 && cards[0].delays == [0, 0]
      && routes.allSatisfy { $0 == CardRoute(card: 0, left: 0, right: 1) }
  }

  private static func device(
    of spec: SpeakerSpec, _ index: Int, _ output: Output
  ) throws(Problem) -> String? {
    if let device = spec.output?.kind.card {
      if output.kind.isForAllSpeakers {
        throw Problem(
          speaker: index, option: "output",
          message: "the house's output \(output.text) is for all speakers; leave either out")
      }
      return device
    }
    if let own = spec.output {
      throw Problem(
        speaker: index, option: "output",
        message: "\(quoted(own.text)) is for the whole house; a speaker's own is a card, as in \"alsa:hw:1\"")
    }
    if let device = output.kind.card { return device }
    guard let option = spec.channels.isEmpty ? (spec.delay > .zero ? "delay" : nil) : "channels" else {
      return nil
    }
    throw Problem(
      speaker: index, option: option,
      message: "the house's output is \(output.text); give the speaker a card, as in output = \"alsa:hw:1\"")
  }

  private mutating func add(
    _ spec: SpeakerSpec, _ index: Int, to card: Int, _ specs: [SpeakerSpec]
  ) throws(Problem) {
    let device = cards[card].device
    guard spec.channels.count <= 2, Set(spec.channels).count == spec.channels.count,
      spec.channels.allSatisfy({ (1...Self.mostChannels).contains($0) })
    else {
      throw Problem(
        speaker: index, option: "channels",
        message: "one or two different channels expected, counted from 1, as in { 3, 4 }")
    }
    guard Self.delays.contains(spec.delay) else {
      throw Problem(speaker: index, option: "delay", message: "0 to 500 ms expected")
    }
    let channels = (spec.channels.isEmpty ? [1, 2] : spec.channels).map { $0 - 1 }
    let frames = Int(spec.delay.nanoseconds * Int64(AudioFormat.session.sampleRate) / 1_000_000_000)
    for other in cards[card].speakers {
      guard let shared = channels.first(where: { routes[other].channels.contains($0) }) else { continue }
      let name = specs[other].name
      if !spec.channels.isEmpty || !specs[other].channels.isEmpty {
        throw Problem(
          speaker: index, option: "channels",
          message: "channel \(shared + 1) of \"\(device)\" is \(quoted(name))'s; name channels of its own")
      }
      if spec.delay != specs[other].delay {
        throw Problem(
          speaker: index, option: "delay",
          message: "it shares channels 1 and 2 of \"\(device)\" with \(quoted(name)), and so the delay")
      }
      cards[card].isShared = true
    }
    let needed = (channels.max() ?? 0) + 1
    if cards[card].channels < needed {
      cards[card].delays += Array(repeating: 0, count: needed - cards[card].channels)
      cards[card].channels = needed
    }
    for channel in channels { cards[card].delays[channel] = frames }
    cards[card].speakers.append(index)
    routes.append(
      CardRoute(card: card, left: channels[0], right: channels.count == 2 ? channels[1] : -1))
  }
}

/// The channels of a card on which a device is heard. Plain data.
struct CardRoute: BitwiseCopyable, Equatable, Sendable {
  /// The index of the card; -1 for none.
  let card: Int
  /// The channel of the left side, counted from 0; that of both sides where there is one channel.
  let left: Int
  /// The channel of the right side; -1 for none.
  let right: Int

  /// A device without a card.
  static let none = CardRoute(card: -1, left: -1, right: -1)

  fileprivate var channels: [Int] { [left, right].filter { $0 >= 0 } }
}
