internal import EventLoop
internal import StreamCore

/// The sound that the station sends, step by step; during a rest, when the buffer is read.
extension SimulatedReceiver {
  /// The longest rest.
  private static let longestRest = Duration.seconds(86_400)

  /// Returns the end of the current rest, or of one that could begin now: the last step before the next event
  /// of the schedule. Nil while more than a clock follows the frames.
  func restEnd() -> Instant? {
    if case .rests(_, let end) = pace { return end }
    guard case .steps = pace, lastStep == now, let open = connection, open.landing == nil, !open.isFresh,
      driver.machine.phase == .receiving, !tee.isRecorded, let buffer = tee.buffer, buffer.mayRest
    else { return nil }
    let events = [schedule.next, titleTime(of: open.sound), formatTime(of: open.sound)].compactMap(\.self)
    let free = min(Self.longestRest, events.min().map { max(.zero, $0 - now) } ?? Self.longestRest)
    let count = (free.nanoseconds - 1) / Self.step.nanoseconds
    guard free > .zero, count > 1 else { return nil }
    let end = loop.now.advanced(by: Self.step * count)
    // The sound of a step comes at its end, in whole frames.
    let late = StreamTime(Self.step) + open.sound.start(of: 1)
    buffer.rest(
      StreamBuffer.Rest(since: loop.now, until: end, end: buffer.range.end - late) { [weak self] in
        self?.catchUp()
      })
    pace = .rests(buffer, until: end)
    return end
  }

  /// Makes the steps that a rest has skipped, and steps from now on.
  func catchUp() {
    guard case .rests(let buffer, _) = pace else { return }
    forgetRest()
    guard let open = connection, buffer === tee.buffer else { return }
    pace = .nextStep
    let count = (now - lastStep).nanoseconds / Self.step.nanoseconds
    let time = lastStep + Self.step * count
    let passed = driver.machine.passSteadily(time - lastStep)
    receive(from: lastStep + passed, to: time, isNew: true)
    connection?.received = time
    lastStep = time
    _ = deliver(open.sound, until: open.sound.count(by: StreamTime(time) + burst(of: open.sound)))
    driver.arm()
  }

  func forgetRest() {
    if case .rests(let buffer, _) = pace { buffer.rest(nil) }
    pace = .steps
  }

  /// Returns the sound that a new listener receives at once.
  func burst(of sound: StationSound) -> StreamTime {
    station.burst.map { StreamTime($0) } ?? sound.window?.lead ?? sound.time(ofBytes: 65_535)
  }

  /// Delivers the sound of the elapsed time.
  /// - Parameter isChange: `true` if the title may have changed.
  func advance(isChange: Bool = false) {
    guard let open = connection else { return }
    if let first = open.landing, now - open.begin >= searchTime {
      connection?.landing = nil
      land(at: first, of: open.sound)
    }
    // A list that came in time may have lost sound in a long silence.
    let hasLanded = open.sound.window.map { lands(in: $0, of: open.sound) } ?? false
    let isJoined = connection?.landing == nil
    let end = isJoined ? open.sound.count(by: StreamTime(now) + burst(of: open.sound)) : next
    advanceMachine(of: open, isNew: end > next)
    connection?.received = now
    lastStep = now
    if isJoined {
      // A new listener receives the title with its first sound.
      if open.isFresh { reportTitle() }
      connection?.isFresh = false
      guard deliver(open.sound, until: end) else { return }
      if isChange || hasLanded { reportTitle() }
    }
    driver.arm()
  }

  /// The time for which the real receiver searches for a join.
  private var searchTime: Duration {
    .seconds(tee.isDry && !tee.isRecorded ? Stitcher.urgentSeconds : Stitcher.searchSeconds)
  }

  /// Reports the sound since the last step to the machine, as evenly as it came.
  private func advanceMachine(of open: Connection, isNew: Bool) {
    var received = open.received
    // Sound that was missing for long has come at once.
    if now - received > Self.step { received = now - .milliseconds(1) }
    receive(from: received, to: now, isNew: isNew)
  }

  func receive(from begin: Duration, to end: Duration, isNew: Bool) {
    var received = begin
    while received < end {
      let next = min(end, received + .milliseconds(500))
      _ = driver.machine.received(next - received, isNew: isNew, at: origin.advanced(by: next))
      received = next
    }
  }

  /// Begins after a gap: the frames of the new connection were not in the old one.
  private func land(at first: Int, of sound: StationSound) {
    let gap = (sound.start(of: first) - sound.start(of: next)).seconds
    next = first
    discontinuity = .gap(seconds: gap)
    report(.reconnected(gap: gap, stitched: false, overlap: 0))
  }

  /// Begins with the oldest frame in the list of an HLS station, if the list has lost the next one.
  /// - Returns: `false` if the list has the next one.
  func lands(in window: StationSound.Window, of sound: StationSound) -> Bool {
    let oldest = sound.count(by: StreamTime(now) + burst(of: sound) - window.length)
    guard oldest > next else { return false }
    land(at: oldest, of: sound)
    return true
  }

  /// Delivers Ogg pages one by one, after the headers that their decoders need.
  /// - Returns: `false` if the buffer is full.
  private func deliverPages(
    of sound: StationSound, until end: Int, to outlets: inout FrameTee.Outlets
  ) -> Bool {
    while next < end {
      if headers == nil || discontinuity != nil, let new = sound.headers(of: next), new != headers {
        headers = new
        if new < next { _ = sound.withFrame(new) { outlets.append($0, $1, nil) } }
      }
      let arrival = sound.withFrame(next) { frame, bytes in
        if frame.isHeaders { headers = next }
        return outlets.append(frame, bytes, discontinuity)
      }
      guard arrival.isAccepted else { return false }
      discontinuity = nil
      next += 1
      if arrival.isEnough { report(.buffered) }
    }
    return true
  }

  /// Puts the frames before `end` into the buffer, with their titles.
  /// - Returns: `false` if the buffer is full.
  func deliver(_ sound: StationSound, until end: Int) -> Bool {
    while station.titles.isEmpty, let mark = sound.title(in: next..<max(next, end)) {
      guard append(sound, until: mark.number) else { return false }
      report(SimulatedStation.Title(mark.title.title ?? "", at: now))
      guard append(sound, until: mark.number + 1) else { return false }
    }
    return append(sound, until: end)
  }

  /// Returns the time at which the next title comes with the sound; nil if none comes in the next rest.
  func titleTime(of sound: StationSound) -> Duration? {
    guard station.titles.isEmpty, let mark = sound.title(in: next..<(next + sound.frameCount + 1)) else {
      return nil
    }
    return arrival(of: mark.number, in: sound)
  }

  /// Returns the time at which the next format comes with the sound; nil for sound of one format.
  private func formatTime(of sound: StationSound) -> Duration? {
    sound.formatEnd(of: next).map { arrival(of: $0, in: sound) }
  }

  /// Returns the time at which a frame comes.
  private func arrival(of number: Int, in sound: StationSound) -> Duration {
    Duration(inSeconds: max(0, (sound.start(of: number + 1) - burst(of: sound)).seconds))
  }

  private func append(_ sound: StationSound, until end: Int) -> Bool {
    while next < end {
      begin(sound.format(of: next))
      guard appendFormat(sound, until: min(end, sound.formatEnd(of: next) ?? end)) else { return false }
    }
    return true
  }

  /// Puts frames of one format into the buffer.
  /// - Returns: `false` if the buffer is full.
  private func appendFormat(_ sound: StationSound, until end: Int) -> Bool {
    let isAccepted = tee.receive { outlets in
      if sound.isOgg { return deliverPages(of: sound, until: end, to: &outlets) }
      let (count, isEnough) = outlets.append(FrameRun(sound: sound, numbers: next..<end), discontinuity)
      next += count
      if count > 0 { discontinuity = nil }
      if isEnough { report(.buffered) }
      return next == end
    }
    if !isAccepted {
      report(.full)
      self.end()
    }
    return isAccepted
  }

  private func reportTitle() {
    if let title = station.title(at: now) { return report(title) }
    // The Ogg headers, which come with every connection, have the title.
    guard next > 0, let sound = connection?.sound, let title = sound.title(of: next) else { return }
    report(SimulatedStation.Title(title.title ?? "", at: now))
  }

  /// Reports a title, unless it was the last one reported.
  private func report(_ title: SimulatedStation.Title) {
    guard title.text != lastTitle?.text || title.url != lastTitle?.url else { return }
    lastTitle = title
    let metadata = ICYMetadata(title: title.text, url: title.url)
    tee.markFromStation(StreamTitle(metadata))
    report(.metadata(metadata, at: tee.end))
  }
}
