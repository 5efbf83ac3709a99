internal import JSONText
public import SpeakerKit

/// The levels that speakers have only for a while, kept in the store between processes: a process that is
/// killed during an interruption leaves them to the next one that opens the house. Confined to the loop.
public struct BorrowedLevelMemory {
  /// The owner of the value in the store; scripts have the path of a file, or `-e` and the like.
  private static let owner = "house"
  private let store: ScriptStore
  private let key: String
  private let log: (String) -> Void

  /// Creates the memory of the houses of a driver.
  public init(store: ScriptStore, driver: String, log: @escaping (String) -> Void) {
    (self.store, key, self.log) = (store, "levels.\(driver)", log)
  }

  /// Restores the levels that an earlier process has left in an opened house, and keeps its levels from now
  /// on.
  public func follow(_ house: House) {
    let left = kept
    let missing = house.restore(borrowed: left)
    // Limits have borrowed levels while the house was opening, and again as these were restored.
    let borrowed = house.borrowedLevels
    if missing + borrowed != left { keep(missing + borrowed) }
    house.onBorrowed { keep(missing + $0) }
  }

  /// Takes up the volumes that were asked for of limited speakers in a house that another process may drive.
  /// - Parameter isDriven: returns `true` if another process drives it now, and keeps its levels itself.
  public func share(_ house: House, isDriven: @escaping () -> Bool) {
    house.share(borrowed: kept) { levels in if !isDriven() { keep(levels) } }
  }

  private var kept: [BorrowedLevel] {
    var text: String?
    attempt { text = try store.text(key, of: Self.owner) }
    return (text.flatMap { JSON(parsing: $0.utf8)?.elements } ?? []).compactMap(BorrowedLevel.init(json:))
  }

  private func keep(_ levels: [BorrowedLevel]) {
    attempt {
      if levels.isEmpty {
        _ = try store.remove(key, of: Self.owner)
      } else {
        try store.set(key, to: JSON.array(levels.map(\.json)).line, of: Self.owner)
      }
    }
  }

  private func attempt(_ work: () throws -> Void) {
    do { try work() } catch {
      log("the volumes from before an interruption are not kept, should the process be killed: \(error)")
    }
  }
}

extension BorrowedLevel {
  fileprivate var json: JSON {
    .object([
      ("device", .string(device)), ("volume", .number(volume)), ("muted", .bool(isMuted)),
      ("low", .number(meanwhile.lowerBound)), ("high", .number(meanwhile.upperBound)),
    ])
  }

  fileprivate init?(json: JSON) {
    guard let device = json["device"]?.text, let volume = json["volume"]?.int,
      let isMuted = json["muted"]?.bool, let low = json["low"]?.int, let high = json["high"]?.int
    else { return nil }
    self.init(device: device, volume: volume, isMuted: isMuted, meanwhile: low, high)
  }
}
