internal import AudioCore
internal import EventLoop

/// Runs a `RenderCore` and writes its blocks: on threads in real time, on the loop under virtual time.
protocol RenderStage: AnyObject {
  /// The current time in nanoseconds, on the clock by which blocks are heard.
  var now: Int64 { get }
  /// Receives the events; not retained.
  var observer: (any StageObserver)? { get set }

  /// Prepares outputs and threads, before the first source starts.
  func prepare() throws
  /// Creates the output of one more device, where each has its own.
  func addDevice(_ name: String) throws
  /// Queues a command for the core, or applies it at once while the core does not run.
  func send(_ command: RenderCommand)
  /// Opens a source and decodes its first blocks.
  func open(_ ahead: DecodeAhead) async throws -> RenderSource
  /// Ends a source that the core does not read and never will again.
  func close(cue: Int)
  /// Renders fades to their end, finishes outputs and joins threads; sessions must have been stopped before.
  func close() async
}

/// The owner of a stage. Called on the loop.
protocol StageObserver: RenderObserver {
  /// The core may have put something into its reports.
  func drainReports()
}

/// Renders PCM. Confined to the loop; follows the state of the core, which runs elsewhere.
final class PCMRenderer: Renderer, StageObserver {
  weak var observer: (any RenderObserver)?

  /// The cue that a session was last commanded to render.
  private struct Current {
    let cue: Int
    let firstFrame: Int
    /// Keeps the loop alive while the session plays.
    var hold: Hold?
    /// The last blocks before pauses, which outputs that play later may not have played at the time of the
    /// next one.
    var earlier: [PositionCell.Value] = []
  }

  private let loop: EventLoop
  private let format: AudioFormat
  private let memory: RenderMemory
  private let stage: any RenderStage
  private var decoders: [Int: (ahead: DecodeAhead, source: RenderSource)] = [:]
  private var current: [DriverStream: Current] = [:]
  private var cueCount = 0
  private var isClosed = false
  /// The devices with ceilings, for which alone the largest boost of an equalizer matters.
  private var limited: Set<Int> = []
  /// The gains of equalizers that are not flat.
  private var equalizers: [DriverStream: EqualizerGains] = [:]

  init(loop: EventLoop, format: AudioFormat, memory: RenderMemory, stage: any RenderStage) {
    self.loop = loop
    self.format = format
    self.memory = memory
    self.stage = stage
    stage.observer = self
  }

  func receive(_ event: RenderEvent) { observer?.receive(event) }

  func addDevice(_ name: String) throws { try stage.addDevice(name) }

  func setMix(_ mix: ChannelMix, channel: Int?, ofDevice device: Int) {
    stage.send(.mix(device: device, mix, channel: channel ?? -1))
  }

  func setCeiling(_ gain: Float?, ofDevice device: Int) {
    let isFirst = gain != nil && limited.isEmpty
    if gain == nil { limited.remove(device) } else { limited.insert(device) }
    if isFirst { for (session, gains) in equalizers { setEqualizer(gains, of: session) } }
    stage.send(.ceiling(device: device, gain ?? -1))
  }

  func setSession(_ session: DriverStream?, ofDevice device: Int) {
    stage.send(.session(device: device, session ?? -1))
  }

  func setOverlay(_ session: DriverStream?, _ mix: ChannelMix, ofDevice device: Int) {
    stage.send(.overlay(device: device, session: session ?? -1, mix))
  }

  func setDuck(_ decibels: Double, over duration: Duration, ofDevice device: Int) {
    stage.send(.duck(device: device, change(to: decibels, over: duration)))
  }

  func setGain(_ decibels: Double, over duration: Duration, of session: DriverStream) {
    stage.send(.gain(session: session, change(to: decibels, over: duration)))
  }

  private func change(to decibels: Double, over duration: Duration) -> GainChange {
    let frames = Double(duration.nanoseconds) * Double(format.sampleRate) / 1e9
    let blocks = max(1, Int((frames / Double(format.framesPerBlock)).rounded()))
    return GainChange(decibels: decibels, gain: Decibels.gain(decibels), blocks: blocks)
  }

  func setEqualizer(_ gains: EqualizerGains, of session: DriverStream) {
    equalizers[session] = gains == .flat ? nil : gains
    let setting = Equalizer.Setting(
      gains, sampleRate: format.sampleRate, findsPeak: !limited.isEmpty)
    stage.send(.equalizer(session: session, setting))
  }

  func load(_ request: SourceRequest) async throws -> Cue {
    cueCount += 1
    let ahead = DecodeAhead(request, cue: cueCount, format: format)
    let source = try await stage.open(ahead)
    if isClosed || Task.isCancelled {
      stage.close(cue: ahead.cue)
      if isClosed { throw House.closedError }
      throw CancellationError()
    }
    decoders[ahead.cue] = (ahead, source)
    return Cue(id: ahead.cue, duration: ahead.duration)
  }

  func discard(_ cue: Cue) {
    if decoders.removeValue(forKey: cue.id) != nil { stage.close(cue: cue.id) }
  }

  func start(_ cue: Cue, in session: DriverStream, paused: Bool) {
    guard let source = decoders[cue.id]?.source else { return }
    do { try stage.prepare() } catch let error as any CodedError {
      observer?.receive(.trouble(error, device: nil))
    } catch {}
    current[session] = Current(
      cue: cue.id, firstFrame: source.firstFrame, hold: paused ? nil : holdLoop())
    stage.send(.start(session: session, source, paused: paused))
  }

  func pause(_ session: DriverStream) {
    current[session]?.hold = nil
    stage.send(.pause(session: session))
  }

  func resume(_ session: DriverStream) {
    current[session]?.hold = holdLoop()
    let last = memory.core.positions[session].read()
    if last.cue == current[session]?.cue {
      current[session]?.earlier.removeAll { $0.frame + $0.count <= heardFrame($0) }
      current[session]?.earlier.append(last)
    }
    stage.send(.resume(session: session))
  }

  func stop(_ session: DriverStream) {
    current[session] = nil
    stage.send(.stop(session: session))
  }

  func position(of session: DriverStream) -> Int {
    guard let current = current[session] else { return 0 }
    let block = memory.core.positions[session].read()
    guard block.cue == current.cue else { return current.firstFrame }
    return current.earlier.reduce(max(current.firstFrame, heardFrame(block))) { max($0, heardFrame($1)) }
  }

  /// Returns the frame that is heard now, if playback up to a block was continuous; at most the end of the block.
  private func heardFrame(_ block: PositionCell.Value) -> Int {
    let heard = FrameTime.frames(in: stage.now - block.heardAt, at: Int64(format.sampleRate))
    return block.frame + min(block.count, Int(heard))
  }

  func close() async {
    isClosed = true
    observer = nil
    for session in current.keys.sorted() { stop(session) }
    await stage.close()
    drainReports()
    for cue in decoders.keys.sorted() { stage.close(cue: cue) }
    decoders.removeAll()
  }

  /// Under virtual time the next block's timer keeps the loop alive, and a hold would stop the clock.
  private func holdLoop() -> Hold? { loop.isVirtual ? nil : loop.hold("a session plays") }

  func drainReports() {
    while let report = memory.reports.consumer.pop() {
      switch report {
      case .retired(let cue):
        decoders[cue] = nil
        stage.close(cue: cue)
      case .ended(let session, let cue, let heardAt):
        let failure = decoders[cue]?.ahead.failure
        loop.after(.nanoseconds(heardAt - stage.now)) { [weak self] in
          guard let self, current[session]?.cue == cue else { return }
          current[session]?.hold = nil
          observer?.receive(.ended(cue: cue, session: session, failure: failure))
        }
      }
    }
  }
}
