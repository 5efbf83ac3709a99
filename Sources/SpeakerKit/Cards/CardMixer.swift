internal import AudioCore

/// The audio thread's view of a `CardMixMemory`: adds the devices' blocks to the channels of their cards.
struct CardMixer: BitwiseCopyable {
  /// The routes of all devices, by index.
  fileprivate let routes: UnsafeMutableBufferPointer<CardRoute>
  /// The blocks of the cards.
  fileprivate let blocks: UnsafeMutableBufferPointer<PCMView>
  /// The limiters of the cards.
  fileprivate let limiters: UnsafeMutablePointer<Limiter>
  /// `true` for cards with a channel that devices share.
  fileprivate let isShared: UnsafeMutablePointer<Bool>

  /// Writes the last block of the devices to the cards. The block of a lost card is skipped; a card without room
  /// counts as lost. The sum of devices that share channels is limited.
  @_noLocks func write(
    _ core: RenderCore, frames: Int, to ports: UnsafeMutableBufferPointer<SinkPort>
  ) {
    var card = 0
    while card < ports.count {
      let block = blocks[card].prefix(frames)
      block.clear()
      var (device, heard) = (0, 0)
      while device < core.devices.count {
        if !core.devices[device].isClear, routes[device].card == card {
          add(core.deviceBlocks[device].prefix(frames), by: routes[device], to: block)
          heard &+= 1
        }
        device &+= 1
      }
      limiters[card].isActive = isShared[card] && heard > 1
      limiters[card].process(block)
      if !ports[card].isLost && ports[card].room < frames { ports[card].overrun() }
      if ports[card].isLost { ports[card].skip(frames) } else { ports[card].write(block) }
      card &+= 1
    }
  }

  @_noLocks private func add(_ source: PCMView, by route: CardRoute, to block: PCMView) {
    if block.channels == 2, route.left == 0, route.right == 1 { return block.add(source) }
    var (input, output) = (source.samples, block.samples)
    var frame = 0
    while frame < source.frames {
      if route.right >= 0 {
        output[route.left] += input[0]
        output[route.right] += input[1]
      } else {
        output[route.left] += (input[0] + input[1]) * 0.5
      }
      input += 2
      output += block.channels
      frame &+= 1
    }
  }
}

/// The cards of a house as the audio thread mixes them.
struct CardLayout: Sendable {
  /// The number of channels of each card.
  var channels = [2]
  /// `true` for cards with a channel that devices share.
  var isShared = [true]
  /// The routes of the first devices.
  var routes: [CardRoute] = []
  /// The route of the other devices.
  var fallback = CardRoute(card: 0, left: 0, right: 1)
  /// The clock that the cards follow; nil for a single card.
  var clock: HouseClock?
}

/// Owns the memory of a `CardMixer`. Created and released on the loop, while no thread renders.
final class CardMixMemory {
  let mixer: CardMixer
  private let blocks: [PCMBlock]

  /// Allocates memory for the cards of `layout` and `devices` speakers.
  init(_ layout: CardLayout, devices: Int, format: AudioFormat) {
    let formats = layout.channels.map { AudioFormat(sampleRate: format.sampleRate, channels: $0) }
    blocks = formats.map { PCMBlock(format: $0) }
    let routes = UnsafeMutableBufferPointer<CardRoute>.allocate(capacity: devices)
    routes.initialize(repeating: layout.fallback)
    for (device, route) in layout.routes.prefix(devices).enumerated() { routes[device] = route }
    let views = UnsafeMutableBufferPointer<PCMView>.allocate(capacity: blocks.count)
    _ = views.initialize(from: blocks.map(\.view))
    let limiters = UnsafeMutablePointer<Limiter>.allocate(capacity: blocks.count)
    for (card, format) in formats.enumerated() { (limiters + card).initialize(to: Limiter(format: format)) }
    let isShared = UnsafeMutablePointer<Bool>.allocate(capacity: blocks.count)
    for card in blocks.indices { (isShared + card).initialize(to: layout.isShared[card]) }
    // All of it is freed in deinit.
    mixer = CardMixer(routes: routes, blocks: views, limiters: limiters, isShared: isShared)
  }

  deinit {
    mixer.routes.deallocate()
    mixer.limiters.deinitialize(count: mixer.blocks.count)
    mixer.limiters.deallocate()
    mixer.isShared.deallocate()
    mixer.blocks.deallocate()
  }
}
