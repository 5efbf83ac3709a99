internal import EventLoop

/// A level that a speaker has for a while, as in an interruption or a fade to silence, with the one that it returns to. A
/// process that is killed meanwhile leaves the speaker as it is: kept on disk, the level is restored by the next one.
public struct BorrowedLevel: Sendable, Equatable {
  /// The id of the speaker.
  public let device: String
  /// The level and mute from before.
  public let volume: Int
  /// `true` if the speaker was muted before.
  public let isMuted: Bool
  /// Levels that the speaker may have meanwhile; any other level means that somebody has set it.
  public let meanwhile: ClosedRange<Int>

  /// Creates a level; nil for volumes that are out of range.
  public init?(device: String, volume: Int, isMuted: Bool, meanwhile low: Int, _ high: Int) {
    let range = House.volumeRange
    guard range.contains(volume), range.contains(low), range.contains(high), low <= high else { return nil }
    (self.device, self.volume, self.isMuted, meanwhile) = (device, volume, isMuted, low...high)
  }
}

/// The borrowed levels of a house, the oldest first; a speaker has one for each borrower.
struct BorrowedLevels {
  private var levels: [(number: Int, level: BorrowedLevel)] = []
  private var last = 0

  /// All levels.
  var all: [BorrowedLevel] { levels.map(\.level) }

  /// Adds levels of one borrower.
  /// - Returns: the borrower's number.
  mutating func add(_ new: [BorrowedLevel]) -> Int {
    last += 1
    levels += new.map { (last, $0) }
    return last
  }

  /// Removes the levels of a borrower.
  /// - Returns: `false` if the borrower had no levels.
  mutating func remove(_ number: Int) -> Bool {
    let count = levels.count
    levels.removeAll { $0.number == number }
    return levels.count < count
  }
}

extension House {
  /// Calls `listener` with the levels that speakers have for a while, after each change of them: to be kept beyond this
  /// process, and restored by the next one with `restore(borrowed:)`.
  public func onBorrowed(_ listener: @escaping ([BorrowedLevel]) -> Void) {
    _ = borrowedListeners.add(listener)
  }

  /// The levels that speakers have for a while, as `onBorrowed` reports them.
  public var borrowedLevels: [BorrowedLevel] { borrowed.all }

  private func reportBorrowed() {
    isBorrowedUnreported = false
    for listener in borrowedListeners.all { listener(borrowed.all) }
  }

  /// Adds levels that speakers have for a while.
  /// - Returns: the number for `forget(borrowed:)`, to be called once the levels are restored.
  public func borrow(_ levels: [BorrowedLevel]) -> Int {
    loop.assertOnLoop()
    let number = borrowed.add(levels)
    if !levels.isEmpty { reportBorrowed() }
    return number
  }

  /// Replaces the level of a borrower, as one change; nil for none.
  /// - Parameters:
  ///   - number: that of the old level; nil without one.
  ///   - isReported: `false` if `reportUnreported` is called later, after further changes.
  /// - Returns: the number of the new level.
  func replace(borrowed number: Int?, with level: BorrowedLevel?, isReported: Bool) -> Int? {
    if let number { _ = borrowed.remove(number) }
    let new = level.map { borrowed.add([$0]) }
    if isReported { reportBorrowed() } else { isBorrowedUnreported = true }
    return new
  }

  /// Reports the levels if a change of them was not reported.
  func reportUnreported() { if isBorrowedUnreported { reportBorrowed() } }

  /// Removes the levels of a borrower. Does nothing for a number without levels.
  public func forget(borrowed number: Int) {
    loop.assertOnLoop()
    if borrowed.remove(number) { reportBorrowed() }
  }

  /// Restores levels that an earlier process has left, unless somebody has set others since. Where a speaker
  /// has several, the oldest is its level before all borrowers.
  /// - Returns: the levels of speakers that the house does not have yet.
  public func restore(borrowed levels: [BorrowedLevel]) -> [BorrowedLevel] {
    loop.assertOnLoop()
    var missing: [BorrowedLevel] = []
    var isKnown: Set<String> = []
    for level in levels {
      guard let device = devices.first(where: { $0.id == level.device }) else {
        missing.append(level)
        continue
      }
      guard isKnown.insert(device.id).inserted else { continue }
      // A limit that is lower than that of the earlier process has lowered the speaker further by now.
      let isLeft = levels.contains { other in
        other.device == device.id
          && [device.volume, device.requestedVolume].contains(where: other.meanwhile.contains)
      }
      guard isLeft else { continue }
      guard !device.isMuted else {
        // The mute stays; the volume that a limit has kept from it comes back with the hours.
        keepAsked(level.volume, of: device)
        continue
      }
      let former = FormerLevel(volume: level.volume, isMuted: level.isMuted, touches: device.levelTouches)
      restoreLevel(former, to: device)
    }
    driver.settle()
    return missing
  }

  /// Takes up the volumes that were asked for in another process, in a house whose limits are not enforced here: louder
  /// and softer count from them. Changes no speaker.
  /// - Parameters:
  ///   - levels: the levels that the other process has left, or has now.
  ///   - keep: receives all levels after a change by a command of this process.
  public func share(borrowed levels: [BorrowedLevel], keep: @escaping ([BorrowedLevel]) -> Void) {
    loop.assertOnLoop()
    var shared: Set<String> = []
    // Where a speaker has several, the newest volume was asked for, and interruptions return the earlier ones.
    for level in levels.reversed() {
      guard let device = devices.first(where: { $0.id == level.device }), device.volumeLimit == device.volume,
        !level.isMuted, level.volume > device.volume, level.meanwhile.contains(device.volume),
        shared.insert(device.id).inserted
      else { continue }
      device.asked = level.volume
      device.askedNumber = borrowed.add([level])
    }
    onBorrowed { [weak self] own in
      guard let self else { return }
      // A command is newer than all that was there before.
      let others = levels.filter { level in
        !shared.contains(level.device)
          && devices.first { $0.id == level.device }.map { $0.levelTouches == 0 } ?? true
      }
      keep(others + own)
    }
  }
}
