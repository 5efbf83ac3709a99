internal import AudioCore
internal import EventLoop

/// Creates the renderer of an embedded house, by its output and by whether time is virtual.
struct RendererFactory {
  let loop: EventLoop
  let format: AudioFormat
  /// The names of the speakers, in the order of the house.
  let speakers: [String]
  let sessions: Int
  let output: Output
  /// The cards of the house and the speakers on them; nil for an output of another kind.
  let plan: CardPlan?
  /// Creates the sink of a speaker in place of `output`, where time is virtual.
  let makeSink: ((_ device: Int) throws -> any PCMSink)?
  let log: (String) -> Void
  /// Receives the index of a card that does not open, and the reason in words.
  let lostAtFirst: (Int, String) -> Void

  /// The number of speakers that may be added while the house is open.
  static let spareSpeakers = 8

  /// The capacity in frames of the ring to a file: 2 s.
  private var fileRing: Int { 2 * format.sampleRate }
  /// The capacity in frames of the ring to a sound card: three blocks.
  private var cardRing: Int { 3 * format.framesPerBlock }

  /// Creates the renderer.
  /// - Throws: `audio.no_output` when a folder can't be written.
  func make() async throws -> any Renderer {
    if let makeSink, loop.isVirtual { return inline { device, _ in try makeSink(device) } }
    if let plan, !plan.cards.isEmpty, !plan.isPlain, !loop.isVirtual { return try await cards(plan) }
    let kind = output.kind
    return loop.isVirtual ? try kind.makeVirtualRenderer(self) : try await kind.makeRenderer(self)
  }

  /// Returns a renderer that counts frames.
  var arithmetic: any Renderer { ArithmeticRenderer(loop: loop, format: format) }

  /// Creates a renderer without an output, in real time.
  func silent() throws -> any Renderer { try threaded(Outputs(.none, Waiter())) }

  private func makeMemory() -> RenderMemory {
    RenderMemory(devices: speakers.count + Self.spareSpeakers, sessions: sessions, format: format)
  }

  /// Creates a renderer that writes to a sink for each speaker, in virtual time.
  func inline(
    _ makeSink: @escaping (_ device: Int, _ speakers: [String]) throws -> any PCMSink
  ) -> any Renderer {
    let memory = makeMemory()
    let stage = InlineStage(
      loop: loop, memory: memory, format: format, speakers: speakers, makeSink: makeSink)
    return PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
  }

  /// Creates a renderer that writes to a file for each speaker, in real time.
  func files(
    _ makeSink: @escaping @Sendable (_ device: Int, _ speakers: [String]) throws -> any PCMSink
  ) throws -> any Renderer {
    let (waiter, format, fileRing) = (try Waiter(), format, fileRing)
    func makeWriter(_ device: Int, of speakers: [String]) throws -> SinkWriter {
      try SinkWriter(format: format, frames: fileRing, policy: .giveUp, renderer: waiter) {
        .file(try makeSink(device, speakers))
      }
    }
    var speakers = speakers
    let writers = try speakers.indices.map { try makeWriter($0, of: speakers) }
    return try threaded(Outputs(.perDevice(writers), waiter)) { name in
      let writer = try makeWriter(speakers.count, of: speakers + [name])
      speakers.append(name)
      return writer
    }
  }

  /// Creates a renderer of one sink for all speakers, in real time, whose clock is the pace of the house; without it the
  /// house is silent, and logs that.
  func mixed(_ makeSink: @escaping @Sendable () throws -> any CardSink) async throws -> any Renderer {
    let waiter = try Waiter()
    let writer = try SinkWriter(
      format: format, frames: cardRing, policy: .openAgain, renderer: waiter
    ) { .card(try makeSink()) }
    let (memory, stage) = try makeStage(Outputs(.mixed(writer), waiter))
    do { try await stage.openCard() } catch {
      let cause = (error as? any CodedError)?.message ?? "\(error)"
      log("no sound: \(cause); the speakers play silently")
      return try silent()
    }
    return PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
  }

  /// Opens the cards of a house with several, or with channels or delays of its speakers. Speakers of a card that
  /// does not open are logged, and it is tried again.
  private func cards(_ plan: CardPlan) async throws -> any Renderer {
    let (waiter, format) = (try Waiter(), format)
    let clock = plan.cards.count > 1 ? HouseClock(sampleRate: format.sampleRate) : nil
    let writers = try plan.cards.enumerated().map { index, card in
      let cardFormat = AudioFormat(sampleRate: format.sampleRate, channels: card.channels)
      let (device, delays) = (card.device, card.delays)
      // The ring of a follower has room for the frames that the house renders while the card waits to enter.
      return try SinkWriter(
        format: cardFormat, frames: index == 0 ? cardRing : format.sampleRate / 2, policy: .insist,
        renderer: waiter
      ) {
        .card(
          try SteppedCard(
            ALSASink(device: device, format: cardFormat), name: device, role: index == 0 ? .leads : .follows,
            clock: clock, delays: delays))
      }
    }
    let layout = CardLayout(
      channels: plan.cards.map(\.channels), isShared: plan.cards.map(\.isShared), routes: plan.routes,
      fallback: plan.fallback, clock: clock)
    let (memory, stage) = try makeStage(Outputs(.cards(writers, layout), waiter))
    for (index, card) in plan.cards.enumerated() {
      do { try await stage.openCard(at: index) } catch {
        let cause = (error as? any CodedError)?.message ?? "\(error)"
        let names = card.speakers.map { speakers[$0] }.joined(separator: ", ")
        log("no sound on \(names): \(cause); the card is tried again")
        lostAtFirst(index, cause)
      }
    }
    return PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
  }

  private func threaded(
    _ outputs: Outputs, makeWriter: ((_ name: String) throws -> SinkWriter)? = nil
  ) throws -> any Renderer {
    let (memory, stage) = try makeStage(outputs, makeWriter)
    return PCMRenderer(loop: loop, format: format, memory: memory, stage: stage)
  }

  private func makeStage(
    _ outputs: Outputs, _ makeWriter: ((_ name: String) throws -> SinkWriter)? = nil
  ) throws -> (RenderMemory, ThreadedStage) {
    let memory = makeMemory()
    let stage = try ThreadedStage(
      loop: loop, memory: memory, outputs: outputs, format: format, makeWriter: makeWriter)
    return (memory, stage)
  }
}
