internal import AudioCore
internal import Synchronization

/// Destination of the audio thread's blocks.
struct Outputs: Sendable {
  /// Arrangement of writers.
  enum Layout: Sendable {
    /// No writers; blocks are discarded.
    case none
    /// A writer per device; a block is rendered when all have room for it.
    case perDevice([SinkWriter])
    /// A card shared by all devices; its clock sets the pace.
    case mixed(SinkWriter)
    /// A stream per device to a server that plays later; it receives blocks only while the device is heard.
    case streams([SinkWriter], StreamTiming)
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
    case .mixed(let writer): [writer]
    case .streams(let writers, _): writers
    }
  }

  /// Times of outputs that play later than they receive.
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
  /// Outputs of devices added while the thread runs, in the order of the devices, for layout `perDevice`.
  let arrivals: RingBuffer<SinkPort>
  /// Rings when there are reports.
  let reportBell: Bell

  /// Owns the memory of `core`.
  private let memory: RenderMemory
  private let core: RenderCore
  /// Owns the writers behind `ports`.
  private let outputs: Outputs
  /// Storage for the outputs of all devices that can be added.
  private let portMemory: UnsafeMutableBufferPointer<SinkPort>
  /// The initialized part of `portMemory`.
  private var ports: UnsafeMutableBufferPointer<SinkPort>
  /// Frames written to `ports` since the start: the silence with which the file of a later device begins.
  private var framesWritten = 0
  private let isMixed: Bool
  /// `true` if outputs receive nothing while their device is silent.
  private let skipsSilence: Bool
  private let mixBlock: PCMBlock
  private var limiter: Limiter
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
    if case .mixed = outputs.layout { isMixed = true } else { isMixed = false }
    if case .streams = outputs.layout { skipsSilence = true } else { skipsSilence = false }
    waiter = outputs.waiter
    self.reportBell = reportBell
    mixBlock = PCMBlock(format: format)
    limiter = Limiter(format: format)
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
      // Read before rendering: a session that ends within the block is still in its sum.
      limiter.isActive = core.heardDevices > 1
      let frames = core.render(heardAt: heardAt)
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
    if isMixed { return ports[0].isLost ? .clock : .room }
    return ports.isEmpty ? .unheard : .clock
  }

  /// Frames between the renderer and the ear.
  private var latency: Int { isMixed ? ports[0].latency : 0 }

  private var isReady: Bool {
    for port in ports where !port.isLost && port.room < mixBlock.view.frames { return false }
    // A card can't wait for a late source: the others continue to sound.
    return mode == .room || core.hasSourceFrames
  }

  private func write(_ frames: Int) {
    if isMixed {
      let mix = mixBlock.view.prefix(frames)
      core.mixDevices(into: mix)
      limiter.process(mix)
      if !ports[0].isLost { ports[0].write(mix) }
    } else {
      core.writeDevices(frames: frames, to: ports, skipsSilence: skipsSilence)
      framesWritten += frames
    }
    for port in ports where !port.isLost { port.wake() }
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
