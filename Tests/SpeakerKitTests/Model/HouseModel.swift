import AudioCore

/// Model of an embedded house's behaviour and events, by the contract with script authors: a second, plain
/// description, which shares no code with the house and does not depend on its implementation.
///
/// Receives the requests to the house with their times; returns the codes that they raise, and predicts the
/// events in `reported`, with their nanoseconds. Only the seconds (`time`) are checked instead of predicted: see
/// `hear(second:of:at:)`.
struct HouseModel {
  /// An event, as `WalkRecorder` words it.
  struct Report: Equatable {
    let instant: Int64
    let text: String
  }

  struct Speaker {
    let label: String
    var name: String
    var volume: Int
    var isMuted = false
    var role: ChannelRole
    var balance: Int
    var isAvailable = true
    /// `playing` as reported last.
    var reportedPlaying = false
    var session: Int?
    /// Number of the last move, and of level changes so far: both decide what an interruption restores.
    var move = 0
    var touches = 0
    /// True if its level was set last by an interruption or a limit, or restored behind one: an event also where it is the same.
    var isLevelOfInterruption = false
    /// Level that an interruption could not restore.
    var owed: (volume: Int, isMuted: Bool, touches: Int)?
    /// Highest volume, and volume that was asked for, where that is higher.
    var limit: Limit?
    var asked: Int?
    var requested: Int { asked ?? volume }
  }

  /// Highest volume of a speaker, and in quiet hours, which begin and end once.
  struct Limit {
    var maximum: Int
    var quiet: (from: Int64, to: Int64, maximum: Int)?

    /// Returns the limit at a time; a lower one applies a little earlier than it has to.
    func maximum(at now: Int64, early: Int64 = HouseModel.lead) -> Int {
      guard let quiet, quiet.from <= now + early, now < quiet.to else { return maximum }
      return quiet.maximum
    }
  }

  struct Player {
    var name: String
    var priority = 100
    var isOpen = true
    var state = "stopped"
    var title: String?
    /// Current source: cue, first frame, and length.
    var cue = -1
    var first = 0
    var length = 0
    var loops = false
    /// Number of suspensions in effect.
    var suspensions = 0
    /// Second reported last, and the time since which the next one is awaited.
    var second = 0
    var runningSince: Int64?
    /// Time since which the session plays without an available speaker, and its number among all such times.
    var silentSince: Silence?
    /// Index of the session's deck; the deck of a closed session is reused by the next one.
    var deck = 0
    /// Speakers that it was asked to have, in that order.
    var wanted: [Int] = []
  }

  struct Silence {
    let time: Int64
    let number: Int
  }

  enum Level {
    case volume(Int)
    /// A volume that leaves the mute.
    case limited(Int)
    case muted(Bool)
    case role(ChannelRole)
    case balance(Int)
  }

  enum Effect {
    case levels([(speaker: Int, level: Level)])
    case name(Int, String)
    case group(Int, String)
  }

  /// Time from the request of a level or a name to its effect.
  static let reaction: Int64 = 5_000_000
  /// Time by which a speaker is lowered before its quiet hours.
  static let lead: Int64 = 250_000_000
  /// Timeout of a session without an available speaker.
  static let silenceTimeout: Int64 = 30_000_000_000

  var now: Int64
  private var silenceCount = 0
  /// Times of changes of limits to come, sorted.
  var hours: [Int64]
  var speakers: [Speaker]
  /// All sessions so far.
  var players = [Player(name: "test")]
  var decks = [DeckModel()]
  /// Members of each group, in the order in which they joined. A group without members does not exist.
  var groups: [String: [Int]] = [:]
  var reported: [Report] = []
  /// Faults of `time` events.
  var complaints: [String] = []
  var mix: MixModel
  var pending: [(due: Int64, effect: Effect)] = []
  var ends: [(due: Int64, cue: Int)] = []
  var interruptions: [InterruptionModel] = []
  /// All suspensions so far, by number.
  var suspensions: [(player: Int, isOver: Bool)] = []
  var cueCount = 0
  var moveCount = 0

  init(_ speakers: [Speaker], at now: Int64) {
    self.speakers = speakers
    players[0].wanted = Array(speakers.indices)
    mix = MixModel(memberships: speakers.map(\.session))
    self.now = now
    hours = Set(speakers.compactMap(\.limit?.quiet).flatMap { [$0.from - Self.lead, $0.to] })
      .filter { $0 > now }.sorted()
    // The house has lowered them before its first sound.
    for index in speakers.indices {
      let volume = min(speakers[index].volume, ceiling(of: index))
      guard volume < speakers[index].volume else { continue }
      self.speakers[index].asked = speakers[index].volume
      self.speakers[index].volume = volume
      self.speakers[index].isLevelOfInterruption = true
    }
  }

  // MARK: Time

  private enum Happening { case block, end, effect, interruption(Int), silence(Int), hours }

  /// Processes all that is due before `instant`.
  mutating func advance(to instant: Int64) {
    while let (due, what) = nextHappening, due < instant {
      now = due
      switch what {
      case .block: renderBlock()
      case .end:
        let cue = ends.removeFirst().cue
        if let player = players.firstIndex(where: { $0.cue == cue }) { finish(player) }
      case .effect: apply(pending.removeFirst().effect)
      case .interruption(let index): endInterruption(index)
      case .silence(let player): stop(player, "no_devices")
      case .hours: changeHours()
      }
    }
    now = instant
  }

  private var nextHappening: (Int64, Happening)? {
    // Of simultaneous occurrences, the one that was scheduled first comes first.
    var all: [(Int64, Happening)] = []
    // Of two that fell silent at once, as by a loss of power, the one that did so first ends first.
    let silent = players.indices.compactMap { index in players[index].silentSince.map { (index, $0) } }
    for (index, since) in silent.sorted(by: { $0.1.number < $1.1.number }) {
      all.append((since.time + Self.silenceTimeout, .silence(index)))
    }
    for (index, one) in interruptions.enumerated() { all.append((one.endsAt, .interruption(index))) }
    if let due = mix.nextBlock { all.append((due, .block)) }
    if let first = ends.first { all.append((first.due, .end)) }
    if let first = pending.first { all.append((first.due, .effect)) }
    if let first = hours.first { all.append((first, .hours)) }
    return all.min { $0.0 < $1.0 }
  }

  private mutating func renderBlock() {
    // A source that starts and stops between two blocks is heard fading out.
    var heard = speakers.indices.map { isHeard($0) }
    for command in mix.drainWaiting() {
      carryOut(command)
      for index in heard.indices where isHeard(index) { heard[index] = true }
    }
    guard decks.contains(where: \.sounds) else { return mix.rest() }
    var frames = 0
    for index in decks.indices {
      let (count, ended) = decks[index].render(at: now)
      frames = max(frames, count)
      if let ended {
        let length = Int64(count) * 1_000_000_000 / Int64(DeckModel.sampleRate)
        let due = now + length
        ends.insert((due, ended), at: ends.firstIndex { $0.due > due } ?? ends.count)
      }
    }
    mix.rendered(frames: frames, heard: heard, at: now)
    if !decks.contains(where: \.sounds) { mix.rest() }
  }

  /// Returns `true` if a block rendered now may be heard from a speaker.
  private func isHeard(_ speaker: Int) -> Bool {
    mix.deck(of: speaker).map { decks[$0].sounds } ?? false
  }

  /// Sends a command to the mix at the next block; at once when there is none.
  mutating func send(_ command: MixModel.Command) {
    if mix.nextBlock != nil { return mix.waiting.append(command) }
    carryOut(command)
    if decks.contains(where: \.sounds) { mix.begin(at: now) } else { mix.forgetRamps() }
  }

  private mutating func carryOut(_ command: MixModel.Command) {
    switch command {
    case .start(let player, let source, let stands):
      mix.note(.playing, ofDeck: players[player].deck)
      decks[players[player].deck].start(source, standing: stands)
    case .pause(let player):
      mix.note(.playing, ofDeck: players[player].deck)
      decks[players[player].deck].pause()
    case .resume(let player):
      mix.note(.playing, ofDeck: players[player].deck)
      decks[players[player].deck].resume()
    case .stop(let player):
      mix.note(.playing, ofDeck: players[player].deck)
      decks[players[player].deck].stop()
    case .member(let speaker, let session): mix.move(speaker, to: session.map { players[$0].deck })
    case .level(let speaker): mix.noteLevel(of: speaker)
    case .gain(let player):
      if decks[players[player].deck].sounds { mix.note(.gain, ofDeck: players[player].deck) }
    }
  }

  // MARK: Events

  mutating func report(_ text: String) { reported.append(Report(instant: now, text: text)) }

  mutating func reportDevice(_ speaker: Int, _ reason: String) {
    report("device \(speakers[speaker].label) \(reason)")
  }

  /// Emits a session's state; `tellPlaying` must follow once the rest of the change is emitted.
  mutating func reportState(_ player: Int) {
    report("state \(players[player].state) \(players[player].name)")
  }

  mutating func reportPlaying() {
    for index in speakers.indices {
      let plays = speakers[index].isAvailable && (speakers[index].session.map(runs) ?? false)
      if plays == speakers[index].reportedPlaying { continue }
      speakers[index].reportedPlaying = plays
      reportDevice(index, "playing")
    }
  }

  // MARK: Seconds

  /// Checks a `time` event. It must report the second that has just been heard of a running session, no
  /// second twice and none later than 1 ms: so long may pass before the house checks again after checking too
  /// early, which happens when a source begins with the next block only.
  mutating func hear(second: Int, of player: Int, at instant: Int64) {
    // Excludes events of this very time: the last second comes just before the end.
    advance(to: instant)
    let one = players[player]
    let isAtEnd = !one.loops && heardFrames(player) == one.length
    if !isAtEnd, one.runningSince == nil { complaints.append("time \(second) \(one.name): it does not run") }
    let heard = heardFrames(player) / DeckModel.sampleRate
    if second != heard || second <= one.second {
      complaints.append("time \(second) \(one.name): \(heard) s heard, \(one.second) told before")
    }
    players[player].second = second
  }

  /// Checks, before a session stops running or changes its source, that all seconds heard for 1 ms have been
  /// reported.
  mutating func checkSeconds(_ player: Int) {
    let one = players[player]
    guard let since = one.runningSince, since + 1_000_000 <= now else { return }
    let heard = max(one.first, heardFrames(player) - DeckModel.sampleRate / 1000 - 1)
    if heard / DeckModel.sampleRate > one.second {
      complaints.append("\(one.name): second \(heard / DeckModel.sampleRate) is missing at \(now)")
    }
  }

  /// Returns the number of frames of a session's source heard so far, through its repetitions.
  func heardFrames(_ player: Int) -> Int {
    let one = players[player]
    return max(one.first, decks[one.deck].heard(of: one.cue, at: now) ?? one.first)
  }

  // MARK: Playing

  func members(of player: Int) -> [Int] { speakers.indices.filter { speakers[$0].session == player } }
  func canBeHeard(_ player: Int) -> Bool { members(of: player).contains { speakers[$0].isAvailable } }
  func isSuspended(_ player: Int) -> Bool { players[player].suspensions > 0 }
  func runs(_ player: Int) -> Bool { players[player].state == "playing" && !isSuspended(player) }

  /// Updates timers after a change of a session's state, its members or their availability.
  mutating func follow(_ player: Int) {
    guard runs(player) else {
      players[player].runningSince = nil
      players[player].silentSince = nil
      return
    }
    players[player].runningSince = players[player].runningSince ?? now
    if canBeHeard(player) {
      players[player].silentSince = nil
    } else if players[player].silentSince == nil {
      silenceCount += 1
      players[player].silentSince = Silence(time: now, number: silenceCount)
    }
  }

  /// Ends a session's source; does nothing without one.
  mutating func stop(_ player: Int, _ reason: String) {
    guard let title = players[player].title else { return }
    checkSeconds(player)
    players[player].title = nil
    players[player].cue = -1
    players[player].state = "stopped"
    send(.stop(player))
    reportState(player)
    report("ended \(title) \(reason) \(players[player].name)")
    reportPlaying()
    follow(player)
  }

  /// Ends a session whose last frame has been heard.
  private mutating func finish(_ player: Int) {
    let seconds = heardFrames(player) / DeckModel.sampleRate
    if seconds > players[player].second {
      complaints.append("\(players[player].name): the last second, \(seconds), is missing at \(now)")
    }
    players[player].second = seconds
    stop(player, "finished")
  }

  // MARK: Levels and names

  /// Average level of the available speakers; a muted one counts as 0.
  var average: Int {
    let levels = speakers.filter(\.isAvailable).map { $0.isMuted ? 0 : $0.volume }
    guard !levels.isEmpty else { return 0 }
    return Int((Double(levels.reduce(0, +)) / Double(levels.count)).rounded())
  }

  /// Schedules an effect some milliseconds later, or before a source starts or a speaker moves: see `flush`.
  mutating func ask(_ effect: Effect) { pending.append((now + Self.reaction, effect)) }

  mutating func flush() {
    while !pending.isEmpty { apply(pending.removeFirst().effect) }
  }

  private mutating func apply(_ effect: Effect) {
    switch effect {
    case .levels(let levels):
      var changed: [Int] = []
      let before = speakers
      for (speaker, level) in levels where set(level, on: speaker) && !changed.contains(speaker) {
        changed.append(speaker)
      }
      for index in changed {
        // A level that a speaker has already is no event.
        let isOther =
          speakers[index].volume != before[index].volume || speakers[index].isMuted != before[index].isMuted
        guard isOther || speakers[index].isLevelOfInterruption else { continue }
        let (one, muted) = (speakers[index], speakers[index].isMuted ? " muted" : "")
        report("volume \(one.label) \(one.volume)\(muted), average \(average)")
      }
    case .name(let speaker, let name):
      speakers[speaker].name = name
      reportDevice(speaker, "renamed")
    case .group(let speaker, let name):
      let before = founders
      for key in groups.keys { groups[key]?.removeAll { $0 == speaker } }
      if name != "harman" { groups[name, default: []].append(speaker) }
      reportDevice(speaker, "regrouped")
      for other in speakers.indices where other != speaker && before[other] != founders[other] {
        reportDevice(other, "regrouped")
      }
    }
  }

  /// Sets one level of a speaker.
  /// - Returns: `true` if that emits a `volume` event, unless nothing has changed.
  private mutating func set(_ level: Level, on index: Int) -> Bool {
    let before = speakers[index]
    switch level {
    case .volume(let volume): (speakers[index].volume, speakers[index].isMuted) = (volume, false)
    case .limited(let volume): speakers[index].volume = volume
    case .muted(let isMuted):
      guard before.isMuted != isMuted else { return false }
      speakers[index].isMuted = isMuted
    case .role(let role):
      guard before.role != role else { return false }
      speakers[index].role = role
      reportDevice(index, "role")
    case .balance(let balance):
      guard before.balance != balance else { return false }
      speakers[index].balance = balance
      reportDevice(index, "balance")
    }
    send(.level(index))
    switch level {
    case .volume, .limited, .muted: return true
    case .role, .balance: return false
    }
  }

  /// Returns the name of a speaker's group.
  func groupName(of speaker: Int) -> String { groups.first { $0.value.contains(speaker) }?.key ?? "harman" }
  private var founders: [Int: Int] {
    var founders: [Int: Int] = [:]
    for members in groups.values { for member in members { founders[member] = members.first } }
    return founders
  }
}
