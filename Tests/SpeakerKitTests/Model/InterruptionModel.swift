/// Model of an interruption that has not ended: the speakers that it borrowed and their former state.
struct InterruptionModel {
  struct Loan {
    let speaker: Int
    /// Session to which the speaker returns; nil for none.
    var from: Int?
    /// Numbers of the speaker's last move before it was borrowed, and of that move.
    let before: Int
    let move: Int
    /// Level before the change, and the number of other level changes by then; nil when it was left alone.
    var level: (volume: Int, isMuted: Bool, touches: Int)?
  }

  let player: Int
  let restores: Bool
  let endsAt: Int64
  var loans: [Loan] = []
  /// Numbers of the suspensions that the interruption began, or shares since another one has ended.
  var suspensions: [Int] = []
}

extension HouseModel {
  /// Borrows speakers, all or none, plays the bell on them, and returns them when its time is over.
  mutating func interrupt(_ request: WalkStep.Interruption) -> String? {
    guard request.speakers.contains(where: { speakers[$0].isAvailable }) else {
      return "speaker.no_active_device"
    }
    if request.speakers.contains(where: { isOutranked($0, by: request.priority) }) {
      return "speaker.outranked"
    }
    let player = open(request.name, priority: request.priority)
    var one = InterruptionModel(player: player, restores: request.restores, endsAt: now + request.length)
    var suspended: [Int] = []
    if request.restores {
      suspended = players.indices.filter { index in
        let members = members(of: index)
        return !members.isEmpty && members.allSatisfy(request.speakers.contains)
      }
    }
    for other in suspended { report("suspending \(players[other].name) by \(request.name)") }
    for other in suspended {
      one.suspensions.append(suspensions.count)
      suspensions.append((other, isOver: false))
      suspend(other, by: request.name)
    }
    for index in request.speakers {
      let (from, before) = (speakers[index].session, speakers[index].move)
      move(index, to: player)
      one.loans.append(.init(speaker: index, from: from, before: before, move: speakers[index].move))
    }
    if let volume = request.volume {
      var levels: [(speaker: Int, level: Level)] = []
      for index in one.loans.indices where speakers[one.loans[index].speaker].isAvailable {
        let speaker = speakers[one.loans[index].speaker]
        one.loans[index].level = (speaker.requested, speaker.isMuted, speaker.touches)
        speakers[one.loans[index].speaker].isLevelOfInterruption = true
        levels.append((one.loans[index].speaker, .volume(volume)))
      }
      askLevels(levels)
    }
    interruptions.append(one)
    return play(player, .init(title: "bell", first: 0, loops: false, priority: nil))
  }

  /// Opens a session, for an interruption or for the whole walk.
  mutating func open(_ name: String, priority: Int) -> Int {
    let player = players.count
    var deck = 1
    while players.contains(where: { $0.isOpen && $0.deck == deck }) { deck += 1 }
    if deck == decks.count { decks.append(DeckModel()) }
    players.append(Player(name: name, priority: priority, deck: deck))
    send(.gain(player))
    return player
  }

  private mutating func suspend(_ player: Int, by name: String) {
    checkSeconds(player)
    if runs(player) { send(.pause(player)) }
    players[player].suspensions += 1
    follow(player)
    reportPlaying()
    report("suspended \(players[player].name) by \(name)")
  }

  /// Suspends a session that has lost all other speakers, if an interruption will return one.
  /// - Returns: `true` if so.
  mutating func suspend(waiting player: Int) -> Bool {
    guard players[player].title != nil else { return false }
    let lenders = speakers.indices.map { lender(of: $0, to: player) }
    guard let lender = lenders.compactMap({ $0 }).first else { return false }
    let name = players[interruptions[lender].player].name
    report("suspending \(players[player].name) by \(name)")
    interruptions[lender].suspensions.append(suspensions.count)
    suspensions.append((player, isOver: false))
    suspend(player, by: name)
    return true
  }

  /// Ends an interruption: restores what has not been changed since.
  mutating func endInterruption(_ index: Int) {
    let one = interruptions.remove(at: index)
    stop(one.player, "stopped")
    var heirs: [Int] = []
    if one.restores { for loan in one.loans { if let heir = giveBack(loan, of: one) { heirs.append(heir) } } }
    for number in one.suspensions where players[suspensions[number].player].isOpen {
      release(number, of: one, to: heirs)
    }
    for loan in one.loans { if let from = loan.from, players[from].isOpen { resumeSuspended(from) } }
    for member in members(of: one.player) { move(member, to: nil) }
    players[one.player].isOpen = false
  }

  /// Returns a speaker to its session, and restores its level.
  /// - Returns: the player of a later interruption that has the speaker now, and returns it instead.
  private mutating func giveBack(_ loan: InterruptionModel.Loan, of one: InterruptionModel) -> Int? {
    let index = loan.speaker
    let from = loan.from.flatMap { players[$0].isOpen ? $0 : nil }
    if speakers[index].session == one.player, speakers[index].move == loan.move {
      move(index, to: from)
      speakers[index].move = loan.before
    }
    let later = interruptions.indices.first { other in
      interruptions[other].loans.contains { $0.speaker == index && $0.from == one.player }
    }
    var keepsLevel = false
    if let later, let entry = interruptions[later].loans.firstIndex(where: { $0.speaker == index }) {
      interruptions[later].loans[entry].from = from
      if let found = interruptions[later].loans[entry].level {
        // The later one found the level that this one set, unless it was changed between.
        if let level = loan.level, level.touches == found.touches {
          interruptions[later].loans[entry].level = level
        }
        keepsLevel = true
      }
    }
    if !keepsLevel, let level = loan.level { give(level, to: index) }
    return later.map { interruptions[$0].player }
  }

  /// Restores a level that has not been changed since; an unavailable speaker receives it when it is
  /// available again.
  mutating func give(_ level: (volume: Int, isMuted: Bool, touches: Int), to index: Int) {
    speakers[index].owed = nil
    guard level.touches == speakers[index].touches else { return }
    guard speakers[index].isAvailable else { return speakers[index].owed = level }
    speakers[index].isLevelOfInterruption = true
    askLevels([(index, .volume(level.volume))] + (level.isMuted ? [(index, .muted(true))] : []))
  }

  /// Ends a suspension with the first speaker that is returned.
  private mutating func release(_ number: Int, of one: InterruptionModel, to heirs: [Int]) {
    let player = suspensions[number].player
    if suspensions[number].isOver { return }
    if members(of: player).isEmpty {
      for index in interruptions.indices where heirs.contains(interruptions[index].player) {
        guard interruptions[index].restores,
          interruptions[index].loans.contains(where: { $0.from == player })
        else { continue }
        if !interruptions[index].suspensions.contains(number) {
          interruptions[index].suspensions.append(number)
        }
      }
      if interruptions.contains(where: { $0.suspensions.contains(number) }) { return }
      stop(player, "no_devices")
    }
    conclude(number, by: one.player)
  }

  private mutating func conclude(_ number: Int, by interrupting: Int) {
    let player = suspensions[number].player
    suspensions[number].isOver = true
    players[player].suspensions -= 1
    guard !isSuspended(player) else { return }
    if runs(player) { send(.resume(player)) }
    follow(player)
    reportPlaying()
    report("resumed \(players[player].name) by \(players[interrupting].name)")
  }

  /// Ends the suspensions of a session that has got a speaker.
  mutating func resumeSuspended(_ player: Int) {
    guard isSuspended(player), canBeHeard(player) else { return }
    for one in interruptions {
      for number in one.suspensions where suspensions[number].player == player && !suspensions[number].isOver
      {
        conclude(number, by: one.player)
      }
    }
  }

  /// Closes a session; that of an interruption ends that.
  mutating func close(_ player: Int) {
    if let index = interruptions.firstIndex(where: { $0.player == player }) { return endInterruption(index) }
    stop(player, "stopped")
    players[player].isOpen = false
    players[player].wanted = []
    for member in members(of: player) { move(member, to: nil) }
  }
}
