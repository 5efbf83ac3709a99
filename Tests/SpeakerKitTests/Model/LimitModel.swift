extension HouseModel {
  /// Returns the highest volume of a speaker now.
  func ceiling(of speaker: Int) -> Int { speakers[speaker].limit?.maximum(at: now) ?? 50 }

  /// Schedules levels, none higher than the limit of its speaker, and keeps the volumes that were asked for.
  mutating func askLevels(_ levels: [(speaker: Int, level: Level)]) {
    ask(
      .levels(
        levels.map { index, level in
          guard case .volume(let volume) = level, speakers[index].limit != nil else { return (index, level) }
          let ceiling = ceiling(of: index)
          speakers[index].asked = volume > ceiling ? volume : nil
          return (index, .volume(min(volume, ceiling)))
        }))
  }

  /// Applies limits that have changed by the hour.
  mutating func changeHours() {
    hours.removeAll { $0 <= now }
    flush()
    for index in speakers.indices where speakers[index].limit != nil {
      send(.level(index))
      applyLimit(to: index)
    }
  }

  /// Lowers a speaker to its limit, or gives back what was asked for.
  mutating func applyLimit(to index: Int) {
    guard speakers[index].limit != nil else { return }
    let asked = speakers[index].requested
    let volume = min(asked, ceiling(of: index))
    guard volume != speakers[index].volume else { return }
    speakers[index].asked = asked > volume ? asked : nil
    speakers[index].isLevelOfInterruption = true
    ask(.levels([(index, .limited(volume))]))
  }
}
