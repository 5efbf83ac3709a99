internal import AudioCore
internal import EventLoop

/// Renders under virtual time: decoding, mixing and writing happen on the loop, block by block, each at the
/// time at which its first frame is heard. The same commands at the same times produce the same bytes.
final class InlineStage: RenderStage {
  weak var observer: (any StageObserver)?
  var now: Int64 { loop.now.nanoseconds }

  private let loop: EventLoop
  private let core: RenderCore
  private let format: AudioFormat
  private let makeSink: (_ device: Int, _ speakers: [String]) throws -> any PCMSink
  private var speakers: [String]
  /// The number of frames written to each output so far.
  private var framesWritten = 0
  private var sinks: [(any PCMSink)?] = []
  private var isPrepared = false
  private var decoders: [Int: DecodeAhead] = [:]
  private var waiting: [RenderCommand] = []
  /// The timer of the next block, while blocks are rendered.
  private var timer: LoopTimer?
  private var anchor: Int64 = 0
  private var framesSinceAnchor: Int64 = 0

  /// Creates the stage; sinks are opened by `prepare`.
  /// - Parameters:
  ///   - speakers: names, in the order of the house.
  ///   - makeSink: opens the sink of one of the speakers, at the first source.
  init(
    loop: EventLoop, memory: RenderMemory, format: AudioFormat, speakers: [String],
    makeSink: @escaping (_ device: Int, _ speakers: [String]) throws -> any PCMSink
  ) {
    self.loop = loop
    core = memory.core
    self.format = format
    self.speakers = speakers
    self.makeSink = makeSink
  }

  func prepare() throws {
    guard !isPrepared else { return }
    isPrepared = true
    sinks = speakers.indices.map { device in
      do { return try makeSink(device, speakers) } catch {
        report(error, device)
        return nil
      }
    }
  }

  func addDevice(_ name: String) throws {
    guard isPrepared else { return speakers.append(name) }
    let sink = try makeSink(speakers.count, speakers + [name])
    let silence = PCMBlock(format: format)
    var missing = framesWritten
    while missing > 0 {
      let part = silence.view.prefix(missing)
      try sink.write(UnsafeBufferPointer(part.buffer))
      missing -= part.frames
    }
    speakers.append(name)
    sinks.append(sink)
  }

  /// Applies a command at the next block, as the audio thread would; at once when no block is under way.
  func send(_ command: RenderCommand) {
    if timer != nil { return waiting.append(command) }
    _ = core.apply(command)
    observer?.drainReports()
    guard core.isSounding else { return }
    anchor = now
    framesSinceAnchor = 0
    schedule()
  }

  func open(_ ahead: DecodeAhead) async throws -> RenderSource {
    try ahead.open()
    decoders[ahead.cue] = ahead
    return ahead.source()
  }

  func close(cue: Int) { decoders[cue] = nil }

  func close() async {
    timer?.cancel()
    timer = nil
    repeat { renderBlock() } while core.isSounding
    for (device, sink) in sinks.enumerated() {
      do { try sink?.finish() } catch { report(error, device) }
    }
    sinks.removeAll()
  }

  private var due: Int64 {
    anchor + FrameTime.nanoseconds(of: framesSinceAnchor, at: Int64(format.sampleRate))
  }

  private func schedule() {
    guard timer == nil else { return }
    timer = loop.at(Instant(nanoseconds: due)) { [weak self] in
      guard let self else { return }
      timer = nil
      renderBlock()
      if core.isSounding { schedule() }
    }
  }

  private func renderBlock() {
    for command in waiting { _ = core.apply(command) }
    waiting.removeAll(keepingCapacity: true)
    if core.isSounding {
      for slot in core.sessions where slot.isSounding {
        if let cue = slot.source?.cue { decoders[cue]?.fill(toFrames: 12 * format.framesPerBlock) }
      }
      let frames = core.render(heardAt: due)
      write(frames)
      framesSinceAnchor += Int64(frames)
    }
    observer?.drainReports()
  }

  private func write(_ frames: Int) {
    framesWritten += frames
    for device in sinks.indices {
      let samples = core.deviceBlocks[device].prefix(frames).buffer
      do { try sinks[device]?.write(UnsafeBufferPointer(samples)) } catch {
        sinks[device] = nil
        report(error, device)
      }
    }
  }

  private func report(_ error: any Error, _ device: Int) {
    let coded = (error as? any CodedError) ?? SpeakerError(.lost, "an output failed: \(error)")
    observer?.receive(.trouble(coded, device: device))
  }
}
