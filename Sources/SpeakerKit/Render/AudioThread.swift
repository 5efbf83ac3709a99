internal import AudioCore
internal import Synchronization

/// The destination of the audio thread's blocks.
struct Outputs: Sendable {
  /// The arrangement of writers.
  enum Layout: Sendable {
    /// No writers; blocks are discarded.
    case none
    /// A writer per device; a block is rendered when all have room for it.
    case perDevice([SinkWriter])
    /// The sound cards on whose channels the devices are mixed; the clock of the first sets the pace.
    case cards([SinkWriter], CardLayout)
    /// A stream per device to a server that plays later; it receives blocks only while the device is heard.
    case streams([SinkWriter], StreamTiming)

    /// A card shared by all devices.
    static func mixed(_ writer: SinkWriter) -> Layout { .cards([writer], CardLayout()) }
  }

  let layout: Layout
  /// Wakes the audio thread when a writer has room; shared by all writers.
  let waiter: Waiter

  init(_ layout: Layout, _ waiter: Waiter) {
    self.layout = layout
    self.waiter = waiter
  }

  /// Writers present from the start.
  var writers: [SinkWriter] {
    switch layout {
    case .none: []
    case .perDevice(let writers): writers
    case .cards(let writers, _): writers
    case .streams(let writers, _): writers
    }
  }

  /// The times of outputs that play later than they receive.
  var timing: StreamTiming { if case .streams(_, let timing) = layout { timing } else { .immediate } }
}

/// The audio thread's loop: applies commands, renders blocks when they are due, sleeps when nothing plays.
///
/// Unchecked: all mutable state is touched by the audio thread only, once `run` has been called; `core` is
/// plain memory that the loop leaves alone from then on. Shared are only rings and atomics.
final class AudioThread: @unchecked Sendable {
  /// Commands from the loop.
  let commands = RingBuffer<RenderCommand>(minimumCapacity: 1024)
  /// Wakes the thread: commands, room in outputs, frames of sources.
  let waiter: Waiter
  /// The outputs of devices added while the thread runs, in the order of the devices, for layout `perDevice`.
  let arrivals: RingBuffer<SinkPort>
  /// Rings when there are reports.
  let reportBell: Bell

  /// Owns the memory of `core`.
  private let memory: RenderMemory
  private let core: RenderCore
  /// Owns the writers that `ports` belong to.
  private let outputs: Outputs
  /// Storage for the outputs of all devices that can be added.
  private let portMemory: UnsafeMutableBufferPointer<SinkPort>
  /// The initialized part of `portMemory`.
  private var ports: UnsafeMutableBufferPointer<SinkPort>
  /// The number of frames written to `ports` since the start: the silence with which the file of a later
  /// device begins.
  private var framesWritten = 0
  /// Mixes devices into the blocks of cards; nil for outputs of other kinds.
  private let cards: CardMixMemory?
  /// The clock of several cards; nil for other outputs.
  private let houseClock: HouseClock?
  /// Frames by which the audio thread is ahead of the ear while it stands in for the first card's clock; nil while
  /// that runs.
  private var standInLead: Double?
  /// `true` if outputs receive nothing while their device is silent.
  private let skipsSilence: Bool
  private let blockFrames: Int
  private let sampleRate: Int
  private var pacer: Pacer
  private var reportedCount = 0

  init(memory: RenderMemory, outputs: Outputs, format: AudioFormat, reportBell: Bell) {
    self.memory = memory
    core = memory.core
    self.outputs = outputs
    let writers = outputs.writers
    let capacity = max(writers.count, memory.core.devices.count)
    portMemory = .allocate(capacity: capacity)  // freed in deinit
    _ = portMemory.initialize(from: writers.map(\.port))
    ports = UnsafeMutableBufferPointer(rebasing: portMemory[..<writers.count])
    arrivals = RingBuffer(minimumCapacity: capacity)
    if case .cards(_, let layout) = outputs.layout {
      cards = CardMixMemory(layout, devices: memory.core.devices.count, format: format)
      houseClock = layout.clock
    } else {
      (cards, houseClock) = (nil, nil)
    }
    if case .streams = outputs.layout { skipsSilence = true } else { skipsSilence = false }
    waiter = outputs.waiter
    self.reportBell = reportBell
    (blockFrames, sampleRate) = (format.framesPerBlock, format.sampleRate)
    pacer = Pacer(sampleRate: format.sampleRate, timing: outputs.timing)
  }

  deinit { portMemory.deallocate() }

  /// Runs until `RenderCommand.quit` has come and nothing sounds.
  func run() {
    var mayQuit = false
    while true {
      while let command = commands.consumer.pop() {
        if !core.apply(command) { mayQuit = true }
      }
      // After the commands: the output of a device that they name has arrived by then.
      while let port = arrivals.consumer.pop() { add(port) }
      tellReports()
      guard core.isSounding else {
        if mayQuit { return }
        pacer.stop()
        if standInLead != nil { houseClock?.stop() }
        standInLead = nil
        waiter.bell.wait()
        continue
      }
      step()
    }
  }

  private func step() {
    let now = monotonicNanoseconds()
    switch pacer.next(now: now, mode: mode, isReady: isReady, latency: latency) {
    case .wait(let due): sleepUntil(monotonicNanoseconds: due)
    case .waitForRoom: waiter.wait { isReady }
    case .render(let heardAt):
      let frames = core.render(heardAt: heardAt + standIn(at: heardAt))
      write(frames)
      pacer.rendered(frames: frames, now: now)
      wakeDecoders()
    }
  }

  private func add(_ port: SinkPort) {
    guard ports.count < portMemory.count else { return }
    portMemory.initializeElement(at: ports.count, to: port)
    ports = UnsafeMutableBufferPointer(rebasing: portMemory[...ports.count])
    port.begin(after: framesWritten)
    port.wake()
  }

  private var mode: Pacer.Mode {
    if cards != nil { return ports[0].isLost ? .clock : .room }
    return ports.isEmpty ? .unheard : .clock
  }

  /// The number of frames between the renderer and the ear.
  private var latency: Int { cards != nil ? ports[0].latency : 0 }

  private var isReady: Bool {
    // The first of several cards sets the pace: no other card can stop the house.
    for port in cards == nil ? ports : UnsafeMutableBufferPointer(rebasing: ports[..<1])
    where !port.isLost && port.room < blockFrames {
      return false
    }
    // A card can't wait for a late source: the others continue to sound.
    return mode == .room || core.hasSourceFrames
  }

  private func write(_ frames: Int) {
    if let cards {
      cards.mixer.write(core, frames: frames, to: ports)
    } else {
      core.writeDevices(frames: frames, to: ports, skipsSilence: skipsSilence)
    }
    framesWritten += frames
    for port in ports where !port.isLost { port.wake() }
  }

  /// Publishes the clock of the house in place of a first card that is lost, from where that stopped.
  /// - Parameter due: time of the next block, in ns.
  /// - Returns: time in ns by which the other cards play it later; 0 while the first card plays.
  private func standIn(at due: Int64) -> Int64 {
    guard let houseClock, ports[0].isLost else {
      standInLead = nil
      return 0
    }
    let lead: Double
    if let standInLead {
      lead = standInLead
    } else {
      let usual = Double(sampleRate) * 0.16
      let last = houseClock.reading(at: due)
      lead = last.map { Double(framesWritten) - $0.frame(at: due, rate: Double(sampleRate)) } ?? usual
      standInLead = lead
    }
    houseClock.publish(ClockReading(time: due, frame: Double(framesWritten) - lead))
    return Int64(lead / Double(sampleRate) * 1e9)
  }

  private func tellReports() {
    guard core.reportCount.pointee != reportedCount else { return }
    reportedCount = core.reportCount.pointee
    reportBell.ring()
  }

  private func wakeDecoders() {
    for slot in core.sessions {
      guard let source = slot.source, source.frames.available < source.state.pointee.refillBelow else {
        continue
      }
      if source.state.pointee.isAsleep.exchange(false, ordering: .acquiringAndReleasing) {
        Bell.ring(source.bell)
      }
    }
  }
}
