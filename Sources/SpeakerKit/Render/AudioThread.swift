internal import AudioCore
internal import Synchronization

/// What the audio thread gives its blocks to.
struct Outputs: Sendable {
  /// How blocks reach the writers.
  enum Layout: Sendable {
    /// Nobody takes them.
    case none
    /// A writer for each device; a block is rendered when all have room for it.
    case perDevice([SinkWriter])
    /// One card for all devices together; its clock sets the pace.
    case mixed(SinkWriter)
  }

  let layout: Layout
  /// Wakes the audio thread when a writer has room; all writers have this one.
  let waiter: Waiter

  init(_ layout: Layout, _ waiter: Waiter) {
    self.layout = layout
    self.waiter = waiter
  }

  /// The writers that there are from the start.
  var writers: [SinkWriter] {
    switch layout {
    case .none: []
    case .perDevice(let writers): writers
    case .mixed(let writer): [writer]
    }
  }
}

/// The loop of the audio thread: takes commands, renders blocks when they are due, sleeps when nothing plays.
///
/// Unchecked: everything mutable is touched by the audio thread only, once `run` has been called; `core` is
/// plain memory that the loop leaves alone from then on. What is shared are rings and atomics.
final class AudioThread: @unchecked Sendable {
  /// From the loop.
  let commands = RingBuffer<RenderCommand>(minimumCapacity: 1024)
  /// Wakes the thread: commands, room in outputs, frames of sources.
  let waiter: Waiter
  /// Outputs of devices that come while it runs, in the order of the devices: those of a layout `perDevice`.
  let arrivals: RingBuffer<SinkPort>
  /// Rings when there are reports.
  let reportBell: Bell

  /// Keeps what `core` works on.
  private let memory: RenderMemory
  private let core: RenderCore
  /// Keeps what `ports` lead to.
  private let outputs: Outputs
  /// Room for an output of every device that can come.
  private let portMemory: UnsafeMutableBufferPointer<SinkPort>
  /// Of `portMemory`, those that are there.
  private var ports: UnsafeMutableBufferPointer<SinkPort>
  /// Frames that went to `ports` since the start: what the file of a device that comes later lacks.
  private var framesGiven = 0
  private let isMixed: Bool
  private let mixBlock: PCMBlock
  private var limiter: Limiter
  private var pacer: Pacer
  private var toldReports = 0

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
    waiter = outputs.waiter
    self.reportBell = reportBell
    mixBlock = PCMBlock(format: format)
    limiter = Limiter(format: format)
    pacer = Pacer(sampleRate: format.sampleRate)
  }

  deinit { portMemory.deallocate() }

  /// Runs until `RenderCommand.quit` has come and nothing sounds.
  func run() {
    var mayQuit = false
    while true {
      while let command = commands.consumer.pop() {
        if !core.apply(command) { mayQuit = true }
      }
      // After the commands: a device that they name has its output by then.
      while let port = arrivals.consumer.pop() { take(port) }
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
      // Asked before: a session that ends within the block is in its sum.
      limiter.isActive = core.heardDevices > 1
      let frames = core.render(heardAt: heardAt)
      give(frames)
      pacer.rendered(frames: frames, now: now)
      wakeFeeds()
    }
  }

  private func take(_ port: SinkPort) {
    guard ports.count < portMemory.count else { return }
    portMemory.initializeElement(at: ports.count, to: port)
    ports = UnsafeMutableBufferPointer(rebasing: portMemory[...ports.count])
    port.begin(after: framesGiven)
    port.wake()
  }

  private var mode: Pacer.Mode {
    if isMixed { return ports[0].isLost ? .clock : .room }
    return ports.isEmpty ? .unheard : .clock
  }

  /// Frames from here to the ear.
  private var latency: Int { isMixed ? ports[0].latency : 0 }

  private var isReady: Bool {
    for port in ports where !port.isLost && port.room < mixBlock.view.frames { return false }
    // A card can't wait for a source that is late: the others sound on.
    return mode == .room || core.hasSourceFrames
  }

  private func give(_ frames: Int) {
    if isMixed {
      let mix = mixBlock.view.prefix(frames)
      core.mixDevices(into: mix)
      limiter.process(mix)
      if !ports[0].isLost { ports[0].write(mix) }
    } else {
      core.writeDevices(frames: frames, to: ports)
      framesGiven += frames
    }
    for port in ports where !port.isLost { port.wake() }
  }

  private func tellReports() {
    guard core.reportCount.pointee != toldReports else { return }
    toldReports = core.reportCount.pointee
    reportBell.ring()
  }

  private func wakeFeeds() {
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
