internal import EventLoop

/// The state machine of a hub's playback: methods apply an event and return the actions to perform. Has no
/// network and no clock.
///
/// A hub plays a medium from its beginning to its end. To pause is to stop it and to keep the position, to resume is to
/// play another medium, which begins there.
struct HubPlayer {
  /// A cue as the hub is to play it.
  struct Run: Equatable {
    let number: Int
    let cue: Int
    /// The frame of the source at which its medium begins.
    let firstFrame: Int
    /// The frame of the source at which it ends; nil when unknown, or without an end.
    var end: Int?
  }

  /// Action for the driver to perform, in the order returned.
  enum Action: Equatable {
    case play(Run)
    case stop
    case ended(Run, Ending)
  }

  /// The reason for the end of a run.
  enum Ending: Equatable {
    /// The medium was heard to its end.
    case complete
    /// The hub has stopped before.
    case cutShort
    /// The hub has not fetched the medium.
    case notFetched
    /// The hub has refused the medium.
    case refused(SpeakerError)
  }

  /// The delivery of a run's medium to the hub.
  struct Delivery: Equatable {
    /// The time at which its sound was first fetched; nil before.
    var begun: Instant?
    /// `true` if all of it has been sent.
    var isComplete = false
    /// The frame of the source at which it ends; nil before that has been decoded.
    var end: Int?
  }

  /// The sound of a run that the hub plays, by its answers.
  private enum Sounding {
    case awaited
    case heard
    /// The last answer was that it has ceased before its end. Another answer confirms it: a hub that restarts, or is
    /// about to vanish, answers the same, and plays on when it is back.
    case ceased
  }

  private enum Phase {
    case stopped
    case paused(Run, frame: Int)
    /// The hub has not answered.
    case requested(Run)
    case playing(Run, HubClock, accepted: Instant, Sounding)
    /// The hub was lost; it may play or not.
    case interrupted(Run, frame: Int)
    /// Ended, at a frame.
    case ended(Int)
  }

  /// The time from an accepted medium to its first sound.
  static let startTime = Duration.seconds(10)
  /// The uncertainty of the position at which the hub ends, in frames.
  private var slack: Int { 3 * rate }

  private let rate: Int
  private var phase = Phase.stopped
  private var runs = 0

  init(rate: Int) { self.rate = rate }

  /// The run that the hub plays, as far as it has answered; nil when it plays nothing of ours.
  var playing: Run? { if case .playing(let run, _, _, _) = phase { run } else { nil } }
  /// The run that the hub is to play, and has not answered; nil for none.
  var requested: Run? { if case .requested(let run) = phase { run } else { nil } }
  /// The run that was not heard to its end when the hub was lost; nil for none.
  var interrupted: Run? { if case .interrupted(let run, _) = phase { run } else { nil } }

  private mutating func play(_ cue: Int, from frame: Int, to end: Int?) -> [Action] {
    runs += 1
    let run = Run(number: runs, cue: cue, firstFrame: frame, end: end)
    phase = .requested(run)
    return [.play(run)]
  }

  // MARK: Commands

  /// Starts a cue at a frame of its source, in place of another one.
  mutating func start(_ cue: Int, from frame: Int, to end: Int?, paused: Bool, at now: Instant) -> [Action] {
    guard paused else { return play(cue, from: frame, to: end) }
    let actions = stop(at: now)
    phase = .paused(Run(number: runs, cue: cue, firstFrame: frame, end: end), frame: frame)
    return actions
  }

  mutating func pause(at now: Instant) -> [Action] {
    let frame = position(at: now)
    switch phase {
    case .requested(let run), .playing(let run, _, _, _):
      phase = .paused(run, frame: frame)
      return [.stop]
    case .interrupted(let run, let frame):
      phase = .paused(run, frame: frame)
      return [.stop]
    case .stopped, .paused, .ended: return []
    }
  }

  mutating func resume() -> [Action] {
    guard case .paused(let run, let frame) = phase else { return [] }
    return play(run.cue, from: frame, to: run.end)
  }

  mutating func stop(at now: Instant) -> [Action] {
    defer { phase = .stopped }
    switch phase {
    case .requested, .playing, .interrupted: return [.stop]
    case .stopped, .paused, .ended: return []
    }
  }

  /// Returns the frame of the source that is heard.
  func position(at now: Instant) -> Int {
    switch phase {
    case .stopped: 0
    case .paused(_, let frame), .interrupted(_, let frame), .ended(let frame): frame
    case .requested(let run): run.firstFrame
    case .playing(let run, let clock, _, _): min(clock.frame(at: now, rate: rate), run.end ?? .max)
    }
  }

  // MARK: Answers

  /// Applies the answer of the hub that it plays a run.
  mutating func accepted(_ number: Int, at now: Instant) {
    guard case .requested(let run) = phase, run.number == number else { return }
    phase = .playing(run, HubClock(frame: run.firstFrame), accepted: now, .awaited)
  }

  /// Applies the refusal of a run by the hub.
  mutating func refused(_ number: Int, _ error: SpeakerError) -> [Action] {
    guard case .requested(let run) = phase, run.number == number else { return [] }
    phase = .ended(run.firstFrame)
    return [.ended(run, .refused(error))]
  }

  /// Applies the beginning of the delivery of a run's medium.
  mutating func delivered(_ number: Int, _ delivery: Delivery) {
    guard case .playing(var run, var clock, let accepted, let sounding) = phase, run.number == number,
      let begun = delivery.begun
    else { return }
    run.end = run.end ?? delivery.end
    clock.start(at: max(begun, accepted))
    phase = .playing(run, clock, accepted: accepted, sounding)
  }

  /// Applies the playback of the hub while it plays a run.
  mutating func observed(
    _ status: HubStatus, of number: Int, _ delivery: Delivery, at now: Instant
  ) -> [Action] {
    delivered(number, delivery)
    guard case .playing(let run, var clock, let accepted, let sounding) = phase, run.number == number else {
      return []
    }
    if status.isPlaying {
      if let elapsed = status.elapsed {
        clock.observe(frame: run.firstFrame + elapsed * rate, at: now, rate: rate)
      }
      phase = .playing(run, clock, accepted: accepted, .heard)
      return []
    }
    let position = position(at: now)
    let isPast = run.end.map { position >= $0 } ?? false
    guard sounding != .awaited || isPast || accepted.duration(to: now) >= Self.startTime else { return [] }
    let isComplete = delivery.isComplete && (run.end.map { position + slack >= $0 } ?? true)
    if !isComplete, sounding == .heard {
      phase = .playing(run, clock, accepted: accepted, .ceased)
      return []
    }
    phase = .ended(isComplete ? run.end ?? position : position)
    return [.ended(run, isComplete ? .complete : delivery.begun == nil ? .notFetched : .cutShort)]
  }

  /// Applies the loss of the hub.
  mutating func lost(at now: Instant) {
    switch phase {
    case .requested(let run), .playing(let run, _, _, _):
      phase = .interrupted(run, frame: position(at: now))
    case .stopped, .paused, .interrupted, .ended: break
    }
  }

  /// Applies the playback of a hub that is back: a medium that has ceased resumes where it was heard last.
  mutating func found(_ status: HubStatus, _ delivery: Delivery, at now: Instant) -> [Action] {
    guard case .interrupted(let run, let frame) = phase else { return [] }
    guard !status.isPlaying else {
      var clock = HubClock(frame: frame)
      clock.start(at: now)
      phase = .playing(run, clock, accepted: now, .heard)
      return observed(status, of: run.number, delivery, at: now)
    }
    if let end = run.end, delivery.isComplete, frame + slack >= end {
      phase = .ended(end)
      return [.ended(run, .complete)]
    }
    return play(run.cue, from: frame, to: run.end)
  }
}

/// The frame that a hub plays, between its answers in whole seconds; it never goes back.
struct HubClock: Equatable {
  private var frame: Int
  /// The time at which `frame` is heard; nil before the medium is fetched.
  private var since: Instant?

  /// A clock that has not started.
  init(frame: Int) { self.frame = frame }

  /// Starts the clock, unless it runs.
  mutating func start(at now: Instant) { since = since ?? now }

  func frame(at now: Instant, rate: Int) -> Int {
    guard let since, since < now else { return frame }
    return frame + Int(FrameTime.frames(in: since.duration(to: now).nanoseconds, at: Int64(rate)))
  }

  /// Corrects the clock by the whole second that the hub plays now: `seen` is its first frame.
  mutating func observe(frame seen: Int, at now: Instant, rate: Int) {
    let current = frame(at: now, rate: rate)
    if since == nil || current < seen {
      (frame, since) = (max(seen, current), now)
    } else if current > seen + rate {
      // Ahead of the hub: the clock rests until the hub has reached its frame.
      let ahead = FrameTime.nanoseconds(of: Int64(current - seen - rate), at: Int64(rate))
      (frame, since) = (current, now.advanced(by: .nanoseconds(ahead)))
    }
  }
}
