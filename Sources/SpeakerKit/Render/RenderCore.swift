internal import AudioCore
internal import Synchronization

/// The render path: mixes sessions into devices, block by block.
///
/// A trivial value over memory of a `RenderMemory`. Everything that the audio thread calls is `@_noLocks`:
/// the compiler rejects allocation, reference counting and locks in it. One thread at a time renders: the
/// audio thread, or the loop under virtual time.
///
/// Per block: source → session's gate → session's chain (equalizer, gain, limiter) → per device: role,
/// balance, volume and mute → device's gate → gain under an overlay → its block. The session of an overlay is added with
/// a mix of its own, and a limiter keeps the sum below full scale.
struct RenderCore: BitwiseCopyable {
  let sessions: UnsafeMutableBufferPointer<SessionSlot>
  let devices: UnsafeMutableBufferPointer<DeviceSlot>
  /// The effects of the sessions, one for each of `sessions`.
  let chains: UnsafeMutablePointer<SessionChain>
  /// The limiters of the devices, for the sum of two sessions, one for each of `devices`.
  let limiters: UnsafeMutablePointer<Limiter>
  /// The published positions of the sessions, one for each of `sessions`.
  let positions: UnsafeMutablePointer<PositionCell>
  /// The blocks of the sessions, each with the channels of its source.
  let sessionBlocks: UnsafeMutablePointer<PCMView>
  /// The factors by which the sessions amplify their sources, frame by frame: a block for each of `sessions`, filled
  /// while a device has a ceiling.
  let loudness: UnsafeMutablePointer<Float>
  /// The blocks of the devices: the output of `render`.
  let deviceBlocks: UnsafeMutablePointer<PCMView>
  /// The number of frames per second.
  let sampleRate: Int
  let reports: RingProducer<RenderReport>
  /// The number of reports emitted so far; for the thread that renders.
  let reportCount: UnsafeMutablePointer<Int>

  /// `true` if at least one session sounds.
  var isSounding: Bool {
    @_noLocks get {
      var index = 0
      while index < sessions.count {
        if sessions[index].isSounding { return true }
        index &+= 1
      }
      return false
    }
  }

  /// `true` if every sounding session has a whole block or its last frames; live sources are not waited for.
  var hasSourceFrames: Bool {
    @_noLocks get {
      let wanted = sessionBlocks[0].frames
      var index = 0
      while index < sessions.count {
        let slot = sessions[index]
        if slot.isSounding, let source = slot.source, !source.isLive,
          !source.state.pointee.isComplete.load(ordering: .acquiring), source.frames.available < wanted
        {
          return false
        }
        index &+= 1
      }
      return true
    }
  }

  /// Applies a command.
  /// - Returns: `false` for `quit`.
  @_noLocks func apply(_ command: RenderCommand) -> Bool {
    switch command {
    case .mix(let device, let mix, let channel):
      // Unheard changes need no ramp, and then the first block of the next source is exact.
      let isHeard = isSounding(devices[device].session)
      if isHeard { devices[device].mix.move(to: mix) } else { devices[device].mix.jump(to: mix) }
      let session = devices[device].session
      devices[device].choose(channel, isHeard: isHeard && sessionBlocks[session].channels > 2)
    case .ceiling(let device, let gain):
      devices[device].ceiling.set(gain, isHeard: isHeard(devices[device]))
    case .session(let device, let session):
      devices[device].move(
        to: session, wasSounding: isSounding(devices[device].session), willSound: isSounding(session))
    case .overlay(let device, let session, let mix):
      devices[device].overlay.set(session, mix, isSounding: isSounding(devices[device].overlay.session))
    case .duck(let device, let change):
      devices[device].duck.move(change)
      if !isHeard(devices[device]) { devices[device].duck.settle() }
    case .start(let session, let source, let paused):
      retire(sessions[session].start(source, paused: paused))
    case .gain(let session, let change):
      chains[session].gain.move(change)
      // An unheard change without duration applies at once; a fade pauses with its session.
      if change.blocks <= 1 && !sessions[session].isSounding { chains[session].gain.settle() }
      settleIfIdle(session)
    case .equalizer(let session, let setting):
      chains[session].equalizer.apply(setting)
      settleIfIdle(session)
    case .pause(let session):
      sessions[session].pause()
    case .resume(let session):
      sessions[session].resume()
    case .stop(let session):
      let (unused, old) = sessions[session].stop()
      retire(unused)
      retire(old)
      settleIfIdle(session)
    case .quit:
      return false
    }
    return true
  }

  /// Renders the next block of every device into `deviceBlocks`.
  /// - Parameter heardAt: time at which its first frame is heard, in ns of the renderer's clock.
  /// - Returns: frames of the block: 20 ms, or fewer when everything that sounds ends within it.
  @_noLocks func render(heardAt: Int64) -> Int {
    var frames = 0
    var index = 0
    while index < sessions.count {
      let count = readSource(of: index, heardAt: heardAt)
      if count > frames { frames = count }
      index &+= 1
    }
    index = 0
    while index < devices.count {
      renderDevice(index, frames: frames)
      index &+= 1
    }
    index = 0
    while index < sessions.count {
      finishSession(index, heardAt: heardAt)
      index &+= 1
    }
    index = 0
    while index < devices.count {
      finishDevice(index)
      index &+= 1
    }
    return frames
  }

  /// Writes each device's block to its port; without ports the blocks are discarded.
  /// - Parameter skipsSilence: `true` if a device that is not heard writes nothing.
  @_noLocks func writeDevices(
    frames: Int, to ports: UnsafeMutableBufferPointer<SinkPort>, skipsSilence: Bool
  ) {
    var index = 0
    while index < ports.count {
      if !ports[index].isLost && !(skipsSilence && devices[index].isClear) {
        ports[index].write(deviceBlocks[index].prefix(frames))
      }
      index &+= 1
    }
  }

  /// Fills a session's block from its source.
  /// - Returns: frames of the block that this session needs.
  @_noLocks private func readSource(of index: Int, heardAt: Int64) -> Int {
    sessions[index].count = 0
    guard sessions[index].isSounding, let source = sessions[index].source else { return 0 }
    let block = PCMView(
      samples: sessionBlocks[index].samples, frames: sessionBlocks[index].frames,
      channels: source.frames.channels)
    sessionBlocks[index] = block
    // Read before the ring: a complete source has all its remaining frames in it.
    let isComplete = source.state.pointee.isComplete.load(ordering: .acquiring)
    let flows =
      !source.isLive
      || sessions[index].flows(
        available: source.frames.available, isComplete: isComplete, blockFrames: block.frames)
    let count = flows ? source.frames.read(into: block) : 0
    block.dropFirst(count).clear()
    let gate = sessions[index].gate
    sessions[index].gate.apply(to: block.prefix(count))
    chains[index].process(block.prefix(count))
    if hasCeilings { fillLoudness(of: index, gate, frames: block.frames) }
    sessions[index].count = count
    positions[index].publish(
      .init(cue: source.cue, frame: sessions[index].frame, count: count, heardAt: heardAt))
    sessions[index].frame &+= count
    return isComplete ? count : block.frames
  }

  @_noLocks private func renderDevice(_ index: Int, frames: Int) {
    if !devices[index].isClear {
      deviceBlocks[index].clear()
      devices[index].isClear = true
    }
    guard isHeard(devices[index]) else { return }
    devices[index].isClear = false
    let block = deviceBlocks[index].prefix(frames)
    let (session, channel) = (devices[index].session, devices[index].channel)
    let before = devices[index]
    if isSounding(session) {
      devices[index].mix.mix(sessionBlocks[session].prefix(frames), into: block, channel: channel)
      devices[index].gate.apply(to: block)
    }
    devices[index].duck.apply(to: block)
    let overlay = devices[index].overlay.session
    limiters[index].isActive = isSounding(overlay)
    if isSounding(overlay) {
      devices[index].overlay.mix.mix(sessionBlocks[overlay].prefix(frames), into: block, channel: channel)
    }
    if before.ceiling.isActive {
      lower(
        block, of: index, before, sessionFactors: isSounding(session) ? loudness(of: session) : nil,
        overlayFactors: isSounding(overlay) ? loudness(of: overlay) : nil)
    }
    limiters[index].process(block)
  }

  /// `true` if at least one device has a ceiling.
  private var hasCeilings: Bool {
    @_noLocks get {
      var index = 0
      while index < devices.count {
        if devices[index].ceiling.isActive { return true }
        index &+= 1
      }
      return false
    }
  }

  @_noLocks private func loudness(of session: Int) -> UnsafeMutablePointer<Float> {
    loudness + session &* sessionBlocks[session].frames
  }

  /// Computes the factors by which a session amplifies its source in this block.
  /// - Parameter gate: the gate of the session at the beginning of the block.
  @_noLocks private func fillLoudness(of session: Int, _ gate: GainRamp, frames: Int) {
    var (gate, gain) = (gate, chains[session].gain.envelope)
    var boost = chains[session].equalizer.envelope
    let factors = loudness(of: session)
    var frame = 0
    while frame < frames {
      factors[frame] = gate.next() * gain.next() * boost.next()
      frame &+= 1
    }
  }

  /// Lowers the block of a device where all gains together exceed its ceiling.
  /// - Parameter before: the device at the beginning of the block.
  @_noLocks private func lower(
    _ block: PCMView, of index: Int, _ before: DeviceSlot, sessionFactors: UnsafeMutablePointer<Float>?,
    overlayFactors: UnsafeMutablePointer<Float>?
  ) {
    var (mix, gate, overlay) = (before.mix, before.gate, before.overlay.mix)
    var duck = devices[index].duck.envelope
    var sample = block.samples
    var frame = 0
    while frame < block.frames {
      let (level, passed, ducked, over) = (mix.next().peak, gate.next(), duck.next(), overlay.next().peak)
      var factor: Float = 0
      if let sessionFactors { factor = level * passed * ducked * sessionFactors[frame] }
      if let overlayFactors { factor += over * overlayFactors[frame] }
      let allowed = devices[index].ceiling.next(factor)
      if allowed < 1 {
        var channel = 0
        while channel < block.channels {
          sample[channel] *= allowed
          channel &+= 1
        }
      }
      sample += block.channels
      frame &+= 1
    }
  }

  /// Completes a session's block: ends finished fades, and sources without further frames.
  @_noLocks private func finishSession(_ index: Int, heardAt: Int64) {
    let slot = sessions[index]
    guard slot.isSounding, let source = slot.source else { return }
    let isAtEnd =
      source.state.pointee.isComplete.load(ordering: .acquiring) && source.frames.available == 0
    if isAtEnd {
      switch slot.phase {
      case .fading(.drop), .fading(.swap): break
      case .playing, .fading(.hold), .held, .idle:
        let length = Int64(slot.count) &* 1_000_000_000 / Int64(sampleRate)
        report(.ended(session: index, cue: source.cue, heardAt: heardAt &+ length))
      }
    }
    retire(sessions[index].finishBlock(isAtEnd: isAtEnd))
    settleIfIdle(index)
  }

  /// Sets gain and equalizer of an idle session to their targets.
  @_noLocks private func settleIfIdle(_ session: Int) {
    if case .idle = sessions[session].phase { chains[session].settle() }
  }

  /// Moves a device to its next session or channel once it has faded out, or at once when its session is
  /// silent.
  @_noLocks private func finishDevice(_ index: Int) {
    devices[index].overlay.finishBlock(
      isSounding: isSounding(devices[index].overlay.session),
      willSound: isSounding(devices[index].overlay.target))
    if !isHeard(devices[index]) {
      devices[index].duck.settle()
      devices[index].ceiling.settle()
    }
    if devices[index].next == nil && devices[index].nextChannel == nil { return }
    let next = devices[index].next ?? devices[index].session
    if devices[index].gate.isSilent || !isSounding(devices[index].session) {
      devices[index].enter(next, sounding: isSounding(next))
    }
  }

  @_noLocks private func isSounding(_ session: Int) -> Bool { session >= 0 && sessions[session].isSounding }

  @_noLocks private func isHeard(_ device: DeviceSlot) -> Bool {
    isSounding(device.session) || isSounding(device.overlay.session)
  }

  @_noLocks private func retire(_ cue: Int?) {
    if let cue { report(.retired(cue: cue)) }
  }

  @_noLocks private func report(_ report: RenderReport) {
    // The ring is far larger than the number of reports that can be pending: a few per command.
    _ = reports.push(report)
    reportCount.pointee &+= 1
  }
}

/// Owns the memory of a `RenderCore`. Created and released on the loop, while no thread renders.
final class RenderMemory {
  let core: RenderCore
  /// Reports of the renderer; read on the loop.
  let reports: RingBuffer<RenderReport>
  private let blocks: [PCMBlock]

  /// Allocates memory for `devices` speakers and `sessions` sessions.
  init(devices: Int, sessions: Int, format: AudioFormat) {
    let frames = format.framesPerBlock
    reports = RingBuffer(minimumCapacity: 1024)
    // A session's block has room for the channels of all roles.
    let surround = AudioFormat(sampleRate: format.sampleRate, channels: AudioFormat.surround.channels)
    blocks = (0..<devices + sessions).map { PCMBlock(format: $0 < sessions ? surround : format) }
    let sessionSlots = UnsafeMutableBufferPointer<SessionSlot>.allocate(capacity: sessions)
    sessionSlots.initialize(repeating: SessionSlot(blockFrames: frames))
    let deviceSlots = UnsafeMutableBufferPointer<DeviceSlot>.allocate(capacity: devices)
    deviceSlots.initialize(repeating: DeviceSlot(blockFrames: frames))
    let chains = UnsafeMutablePointer<SessionChain>.allocate(capacity: sessions)
    for index in 0..<sessions { (chains + index).initialize(to: SessionChain(format: surround)) }
    let limiters = UnsafeMutablePointer<Limiter>.allocate(capacity: devices)
    for index in 0..<devices { (limiters + index).initialize(to: Limiter(format: format)) }
    let positions = UnsafeMutablePointer<PositionCell>.allocate(capacity: sessions)
    for index in 0..<sessions { (positions + index).initialize(to: PositionCell()) }
    let views = UnsafeMutablePointer<PCMView>.allocate(capacity: devices + sessions)
    for (index, block) in blocks.enumerated() { (views + index).initialize(to: block.view) }
    let loudness = UnsafeMutablePointer<Float>.allocate(capacity: max(1, sessions * frames))
    loudness.initialize(repeating: 0, count: max(1, sessions * frames))
    let reportCount = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    reportCount.initialize(to: 0)
    core = RenderCore(  // all of it is freed in deinit
      sessions: sessionSlots, devices: deviceSlots, chains: chains, limiters: limiters,
      positions: positions,
      sessionBlocks: views, loudness: loudness,
      deviceBlocks: views + sessions, sampleRate: format.sampleRate,
      reports: reports.producer, reportCount: reportCount)
  }

  deinit {
    core.chains.deinitialize(count: core.sessions.count)
    core.chains.deallocate()
    core.limiters.deinitialize(count: core.devices.count)
    core.limiters.deallocate()
    core.positions.deinitialize(count: core.sessions.count)
    core.positions.deallocate()
    core.sessionBlocks.deallocate()
    core.loudness.deallocate()
    core.sessions.deallocate()
    core.devices.deallocate()
    core.reportCount.deallocate()
  }
}
