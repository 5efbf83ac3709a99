extension HouseModel {
  /// Performs an action of a person, on rooms with all that sounds there.
  /// - Returns: the code of the error that it raises.
  mutating func perform(_ person: WalkStep.Person) -> String? {
    switch person {
    case .stop(let place):
      guard let speakers = speakers(in: place) else { return "speaker.unknown" }
      for session in sounding(in: place, speakers) {
        let all = self.speakers.indices.filter { has($0, session) }
        if all.allSatisfy(speakers.contains) {
          stop(session, "stopped")
        } else {
          for speaker in members(of: session) where speakers.contains(speaker) { leave(speaker) }
        }
      }
    case .pause(let place):
      guard let speakers = speakers(in: place) else { return "speaker.unknown" }
      let wanted = sounding(in: place, speakers).filter { players[$0].state == "playing" }
      if wanted.isEmpty { return "speaker.no_active_device" }
      for session in wanted { pause(session) }
    case .resume(let place):
      guard let speakers = speakers(in: place) else { return "speaker.unknown" }
      let wanted = sounding(in: place, speakers).filter { players[$0].state == "paused" }
      if wanted.isEmpty { return "speaker.no_active_device" }
      for session in wanted { _ = resume(session) }
    case .step(let place, let step):
      guard let speakers = speakers(in: place) else { return "speaker.unknown" }
      let reached = speakers.filter { self.speakers[$0].isAvailable }
      if reached.isEmpty { return "speaker.unavailable" }
      for speaker in reached { _ = ask(.volume(volume(of: speaker, steppedBy: step)), of: .speaker(speaker)) }
    }
    return nil
  }

  /// Returns the volume that was asked for last, louder, as far as the limit goes; or the one that is heard, softer.
  private func volume(of speaker: Int, steppedBy step: Int) -> Int {
    let (asked, ceiling) = (speakers[speaker].requested, ceiling(of: speaker))
    return step < 0 ? max(min(asked, ceiling) + step, 0) : min(asked + step, max(asked, ceiling))
  }

  /// Returns the speakers of a place; nil for a room that is not there.
  private func speakers(in place: WalkStep.Place?) -> [Int]? {
    switch place {
    case nil: Array(speakers.indices)
    case .speaker(let speaker): [speaker]
    case .room(let name): groups[name].flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  /// Returns the sessions with a source, in a place or anywhere.
  private func sounding(in place: WalkStep.Place?, _ speakers: [Int]) -> [Int] {
    players.indices.filter { session in
      players[session].title != nil
        && (place == nil || members(of: session).contains(where: speakers.contains))
    }
  }
}
