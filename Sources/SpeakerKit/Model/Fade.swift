public import EventLoop
internal import Glibc

/// A fade of the levels of speakers to one level, in steps, each of which is a change of volume with its
/// event, heard over a ramp of one block. Confined to the loop.
///
/// A speaker belongs to the fade that its `Device.fade` names: until a command or another controller sets its
/// level, a newer fade begins, or it is not a member any more. A speaker that can't be reached, or whose
/// level belongs to an interruption that began later, is left out, and receives the level that the fade has
/// reached when it is back.
public final class Fade {
  /// The course from one level to another.
  public enum Curve: String, Sendable, CaseIterable {
    /// Equal times for equal steps, each of which sounds as large as the others.
    case linear
    /// The power of the sound follows the square of a sine: while one room fades out and another fades in, the sum of
    /// their powers stays the same, within a step. Most steps are near the quiet end.
    case equalPower = "equal_power"

    /// Returns the time after which a fade from one level to another reaches a level.
    fileprivate func time(of duration: Duration, from: Int, to: Int, at level: Int) -> Duration {
      switch self {
      case .linear: return duration * (level - from) / (to - from)
      case .equalPower:
        let risen = (Self.power(level) - Self.power(from)) / (Self.power(to) - Self.power(from))
        return duration * (asin(risen.squareRoot()) * 2 / .pi)
      }
    }

    /// Returns the power of the sound at a level, 1 at the highest: by `VolumeLaw`, a step is 0.9 dB.
    private static func power(_ level: Int) -> Double {
      level == 0 ? 0 : pow(10, 0.09 * Double(level - House.maximumVolume))
    }
  }

  private struct Member {
    enum State {
      /// The speaker has the level of the fade.
      case current
      /// The speaker receives the level of the fade next.
      case due
      /// The speaker has missed the level of the fade.
      case leftOut
      /// The speaker belongs to the fade no longer.
      case lost
    }

    let device: Device
    let from: Int
    /// The session whose speaker it must remain; nil for none.
    let session: Session?
    /// `true` if its level is one of the interruption that `session` belongs to, which restores the one from before.
    let isBorrowed: Bool
    /// The number of moves of speakers at the beginning: later interruptions have moved it since.
    let moves: Int
    /// The level reached; nil before the first step.
    var level: Int?
    var state = State.current
    /// `true` if the fade, or a step of it, is the last command for its level that was reported.
    var isReported = false
  }

  private struct Step {
    let at: Duration
    let member: Int
    let level: Int
  }

  private enum Phase {
    case active
    case ended(Instant)
  }

  private let request: LevelFade
  /// The session whose command it is; nil for others.
  private let owner: Session?
  private let loop: EventLoop
  private let start: Instant
  private let end: Instant
  private weak var house: House?
  private let isMember: (Device) -> Bool
  /// `true` if its beginning is reported, and then its end before the last step.
  private let isReported: Bool
  private var members: [Member]
  /// Steps to come, in the order of their times.
  private var steps: ArraySlice<Step>
  private var phase = Phase.active
  /// The call that waits for the next step, or for a change of a speaker.
  private let changes = PendingCalls<Void>()

  /// Begins a fade as the last one of each speaker, at the levels in effect; a muted speaker rises from 0.
  /// - Parameters:
  ///   - devices: the speakers, each once.
  ///   - isAlwaysReported: `true` if the fade is reported also where it moves nothing.
  ///   - owner: the session whose command it is; nil for others.
  ///   - isMember: `true` while the fade applies to the speaker.
  ///   - session: returns the session whose speaker it must remain, nil for none. Where that is an interruption's, the
  ///     level is the interruption's, which restores the one from before.
  init(
    _ request: LevelFade, _ curve: Curve, of devices: [Device], in house: House, isAlwaysReported: Bool,
    for owner: Session?, while isMember: @escaping (Device) -> Bool, boundTo session: (Device) -> Session?
  ) {
    (self.request, self.house, self.owner, self.isMember) = (request, house, owner, isMember)
    (loop, start) = (house.loop, house.loop.now)
    end = start.advanced(by: request.over)
    members = devices.map { device in
      let session = session(device)
      return Member(
        device: device, from: device.isMuted ? 0 : device.volume, session: session,
        isBorrowed: house.restoresLevels(of: session), moves: house.moveCount)
    }
    isReported = request.over > .zero && (isAlwaysReported || members.contains { $0.from != request.to })
    steps = Self.steps(of: members, request, curve)[...]
    // A fade that moves nothing still ends another one.
    let ended = members.filter { $0.from == to && $0.device.fade?.isActive == true }
    if !isReported { report(ended.map(\.device), .fadeEnd) }
    for index in members.indices {
      let member = members[index]
      // An interruption that has the level treats the fade as a command. One that owes the level to a speaker that is
      // away restores it, unless the fade sets another one.
      if member.from != to, member.device.isAvailable { touch(member) }
      if member.from == to { house.forgetAsked(of: member.device) }
      members[index].isReported = isReported && member.device.isAvailable
      member.device.fade = self
    }
    report(members.filter(\.isReported).map(\.device), .fade(request))
    advance()
  }

  /// Returns all steps, each whole level of each speaker, in the order of their times; one for each speaker that moves
  /// where the fade takes no time.
  private static func steps(of members: [Member], _ request: LevelFade, _ curve: Curve) -> [Step] {
    let to = request.to
    var steps: [Step] = []
    for (index, member) in members.enumerated() where member.from != to {
      let by = member.from < to ? 1 : -1
      for level in stride(from: request.over > .zero ? member.from + by : to, through: to, by: by) {
        let time = curve.time(of: request.over, from: member.from, to: to, at: level)
        steps.append(Step(at: time, member: index, level: level))
      }
    }
    // Sorting keeps the order of equal times.
    return steps.sorted { $0.at < $1.at }
  }

  /// The level at the end.
  public var to: Int { request.to }

  /// `true` if a speaker has another level than that at the end.
  fileprivate var moves: Bool { members.contains { $0.from != to } }

  /// `true` until the fade ends or is cancelled.
  public var isActive: Bool { if case .active = phase { true } else { false } }

  /// The fraction of the time that has passed, 0...1.
  public var progress: Double {
    guard request.over > .zero else { return 1 }
    let now = if case .ended(let end) = phase { end } else { loop.now }
    return min(1, start.duration(to: now) / request.over)
  }

  /// The speakers that the fade has; after its end those that it had to the end.
  public var devices: [Device] { members.filter { $0.state != .lost }.map(\.device) }

  /// `true` if the fade has a speaker, also after its end one that was left out.
  public var hasSpeaker: Bool { members.contains { $0.device.fade === self } }

  /// Makes the steps in the calling task, which is their cause, and returns when the last one has taken effect. Speakers
  /// that are left out then receive the level in a task that this one starts.
  /// - Returns: `false` if the fade was cancelled, or the house closed.
  /// - Throws: `CancellationError`, as of `cancel`.
  public func run() async throws -> Bool {
    do {
      while isActive, let next = advance() {
        try await changes.wait(on: loop, timeout: loop.now.duration(to: next))
      }
      if isActive, hasSpeaker { try await house?.driver.awaitChanges() }
    } catch {
      cancel()
      throw error
    }
    guard isActive else { return false }
    guard house?.isOpen == true else {
      cancel()
      return false
    }
    phase = .ended(loop.now)
    loop.start { [self] in await catchUp() }
    return true
  }

  /// Ends the fade: levels stay as they are, also those of speakers that were left out.
  public func cancel() {
    if isActive {
      reportEnd(of: members.map(\.device).filter { $0.fade === self && $0.isAvailable })
      phase = .ended(loop.now)
    }
    for member in members { release(member.device) }
    changes.settle(.success(()))
  }

  /// Gives the level to speakers that were left out, each as soon as it can have it.
  private func catchUp() async {
    while house?.isOpen == true {
      advance()
      for member in members where member.state == .current { release(member.device) }
      guard hasSpeaker else { return }
      do { try await changes.wait(on: loop) } catch { return }
    }
  }

  /// Continues the fade of a speaker that may have its level again.
  func levelIsFree(of device: Device) {
    guard let index = members.firstIndex(where: { $0.device === device }) else { return }
    members[index].state = .leftOut
    changes.settle(.success(()))
  }

  /// Gives a speaker up; called when `Device.fade` names another fade, or none.
  func lose(_ device: Device) {
    if isActive, let index = members.firstIndex(where: { $0.device === device }) {
      members[index].state = .lost
    }
    changes.settle(.success(()))
  }

  /// Removes the fade from a speaker, whose level stays.
  private func release(_ device: Device) { if device.fade === self { device.fade = nil } }

  /// Makes the steps that are due, for the speakers that are still the fade's.
  /// - Returns: the moment of the next step, or of the end; nil if nothing is left to wait for.
  @discardableResult
  private func advance() -> Instant? {
    guard let house, house.isOpen else { return nil }
    loseOthers(in: house)
    while let step = steps.first, start.advanced(by: step.at) <= loop.now {
      steps.removeFirst()
      members[step.member].level = step.level
      if members[step.member].state == .current { members[step.member].state = .due }
    }
    deliver(in: house)
    guard members.contains(where: { $0.state != .lost }) else { return nil }
    let next = steps.first.map { start.advanced(by: $0.at) } ?? end
    return next > loop.now ? next : nil
  }

  /// Gives up the speakers that are not members any more.
  private func loseOthers(in house: House) {
    var gone: [Device] = []
    for member in members where member.device.fade === self {
      let isSpeaker =
        member.session.map {
          house.hasSpeaker(member.device, $0) || member.device.overlay?.session === $0
        } ?? true
      if !isSpeaker || !isMember(member.device) { gone.append(member.device) }
    }
    reportEnd(of: gone)
    for device in gone { release(device) }
  }

  /// Sets the levels that are due, in one change, and those of speakers that can have them again.
  private func deliver(in house: House) {
    var (levels, returning): ([Member], [Member]) = ([], [])
    for index in members.indices {
      let member = members[index]
      guard member.device.fade === self, member.state != .current else { continue }
      guard house.isLevelFree(of: member.device, since: member.moves) else {
        members[index].state = .leftOut
        // An interruption has reported its level, or the one that it restores.
        if member.device.isAvailable { members[index].isReported = false }
        continue
      }
      members[index].state = .current
      if member.state == .leftOut, member.from != to, member.level != nil || !member.isReported {
        members[index].isReported = true
        returning.append(member)
      }
      if member.level != nil { levels.append(member) }
    }
    let rest = loop.now.duration(to: end)
    if rest > .zero { report(returning.map(\.device), .fade(LevelFade(to: to, over: rest))) }
    let commands = levels.compactMap { member in member.level.map { (member.device, $0) } }
    guard !commands.isEmpty else { return }
    house.report(
      .level(commands.map { ($0, request.over > .zero ? .step($1) : .set($1)) }, by: .caller), for: owner)
    for member in levels {
      member.device.levelCause = member.isBorrowed ? .interruption : nil
      touch(member)
    }
    house.send(commands.map { ($0, .volume($1)) }, for: owner)
  }

  /// Counts a change of the level of a speaker, unless an interruption restores it anyway.
  private func touch(_ member: Member) { if !member.isBorrowed { member.device.levelTouches += 1 } }

  private func reportEnd(of devices: [Device]) { if isReported { report(devices, .fadeEnd) } }

  private func report(_ devices: [Device], _ command: LevelCommand) {
    guard let house, house.isOpen, !devices.isEmpty else { return }
    house.report(.level(devices.map { ($0, command) }, by: .caller), for: owner)
  }
}

extension House {
  /// Begins a fade of speakers to one level; `Fade.run` makes its steps, save those of a fade that takes no time.
  /// - Parameters:
  ///   - devices: the speakers; those that are not in the house are left alone.
  ///   - volume: 0...50.
  ///   - duration: 0 or more.
  ///   - session: whose speakers they must remain; nil for none.
  /// - Throws: `speaker.range`, `script.flooded`, `speaker.closed`.
  public func beginFade(
    of devices: [Device], to volume: Int, over duration: Duration, curve: Fade.Curve = .linear,
    in session: Session? = nil
  ) throws(SpeakerError) -> Fade {
    try beginFade(
      devices, LevelFade(to: volume, over: duration), curve, isAlwaysReported: true, for: session,
      while: { _ in true }
    ) { _ in session }
  }

  private func beginFade(
    _ devices: [Device], _ request: LevelFade, _ curve: Fade.Curve, isAlwaysReported: Bool,
    for owner: Session?, while isMember: @escaping (Device) -> Bool,
    boundTo session: (Device) -> Session?
  ) throws(SpeakerError) -> Fade {
    try requireRoomForChanges()
    try Self.check(volume: request.to)
    driver.settle()
    let devices = Self.eachOnce(devices).filter { !$0.isRemoved && $0.house === self }
    return Fade(
      request, curve, of: devices, in: self, isAlwaysReported: isAlwaysReported, for: owner,
      while: isMember, boundTo: session)
  }

  /// Fades speakers to one level, in equal times for equal steps, and returns when the last step has taken effect; at
  /// once if all have the level. On a speaker that an interruption has, the fade is part of that.
  /// - Parameters:
  ///   - volume: 0...50.
  ///   - duration: 0 or more.
  ///   - session: whose speakers those that it has must remain; nil for none.
  ///   - isMember: `true` while the fade applies to the speaker.
  /// - Throws: `speaker.range`, `speaker.unsupported`, `script.flooded`, `speaker.closed`, `CancellationError`; levels
  ///   then remain as they are.
  func fade(
    _ devices: [Device], volume: Int, over duration: Duration, in session: Session? = nil,
    while isMember: @escaping (Device) -> Bool = { _ in true }
  ) async throws {
    try require("fade", for: "fades")
    try Session.check(duration)
    let request = LevelFade(to: volume, over: duration)
    let fade = try beginFade(
      devices, request, .linear, isAlwaysReported: false, for: session, while: isMember
    ) {
      if let session, hasSpeaker($0, session) || $0.overlay?.session === session { return session }
      return restoresLevels(of: $0.session) ? $0.session : nil
    }
    if fade.moves { _ = try await fade.run() }
    fade.cancel()
  }

  /// Returns `true` for the session of an interruption, which restores the levels of its speakers; one of a sound over
  /// others leaves them alone.
  fileprivate func restoresLevels(of session: Session?) -> Bool {
    session != nil && interruptions.contains { $0.session === session }
  }

  /// Returns `true` if a speaker can be reached, and no interruption that has begun since has its level.
  /// - Parameter moves: number of moves of speakers at that time.
  fileprivate func isLevelFree(of device: Device, since moves: Int) -> Bool {
    device.isAvailable && !device.isRestoring
      && !interruptions.contains { $0.setsLevel(of: device, since: moves) }
  }
}
