internal import EventLoop
public import Scheduling

/// Hours of each day, in local time and also over midnight, in which a speaker has a lower limit.
public struct QuietHours: Sendable, Equatable {
  /// The time of day at which the hours begin.
  public let from: TimeOfDay
  /// The time of day at which they end; not `from`.
  public let to: TimeOfDay
  /// The highest volume meanwhile, 0...50.
  public let maximum: Int

  /// Creates hours.
  /// - Returns: nil for equal times, and for a volume that is out of range.
  public init?(from: TimeOfDay, to: TimeOfDay, maximum: Int) {
    guard from != to, House.volumeRange.contains(maximum) else { return nil }
    (self.from, self.to, self.maximum) = (from, to, maximum)
  }

  /// Returns `true` for a time of day in these hours, to which `to` does not belong.
  func contains(_ time: TimeOfDay) -> Bool {
    from < to ? from <= time && time < to : from <= time || time < to
  }
}

/// The highest volume of a speaker, which nothing exceeds: neither its level, nor a gain or an equalizer on top of it.
public struct SpeakerLimit: Sendable, Equatable {
  /// The highest volume, 0...50.
  public let maximum: Int
  /// Hours with a lower one; nil for none.
  public let quiet: QuietHours?

  /// Creates a limit.
  /// - Returns: nil for a volume that is out of range, and for quiet hours with a higher one.
  public init?(maximum: Int = House.maximumVolume, quiet: QuietHours? = nil) {
    guard House.volumeRange.contains(maximum), (quiet?.maximum ?? 0) <= maximum else { return nil }
    (self.maximum, self.quiet) = (maximum, quiet)
  }

  /// The lowest volume that it ever allows.
  var lowest: Int { quiet?.maximum ?? maximum }
}

/// A limit that keeps a speaker below the volume that was asked for.
public struct AppliedLimit: Sendable, Equatable {
  /// The volume that was asked for.
  public let asked: Int
  /// The volume that the limit allows now.
  public let maximum: Int
  /// The hours of that limit; nil for one that holds all day.
  public let quiet: QuietHours?

  /// The limit in words, as in `limited to 12 by quiet hours from 22:00 to 06:30; 30 was asked for`.
  public var text: String { "limited to \(maximum) by \(reason); \(asked) was asked for" }

  /// The limit in words, as in `quiet hours from 22:00 to 06:30`.
  public var reason: String { quiet.map { "quiet hours from \($0.from) to \($0.to)" } ?? "its max_volume" }
}

/// The limits of the speakers of a house.
public struct SpeakerLimits: Sendable {
  /// Limits by the ids or the names of the speakers.
  let limits: [String: SpeakerLimit]
  /// The zone of the quiet hours.
  let zone: any LocalZone
  /// `false` if another process may drive the speakers, and keeps them to their limits: only the commands of this one are
  /// limited here.
  let areEnforced: Bool

  /// The time by which quiet hours lower a speaker before they begin: its sound is on its way to the ear for as long.
  static let lead = Duration.milliseconds(250)

  /// Creates limits by the ids or the names of the speakers.
  /// - Parameter areEnforced: `false` if only the commands of this process are limited.
  public init(
    _ limits: [String: SpeakerLimit] = [:], zone: any LocalZone = ProcessZone(), areEnforced: Bool = true
  ) {
    (self.limits, self.zone, self.areEnforced) = (limits, zone, areEnforced)
  }

  /// Returns the names of limits that no speaker has, sorted.
  func unknown(among speakers: [DeviceInfo]) -> [String] {
    let known = Set(speakers.flatMap { [$0.id, $0.name] })
    return limits.keys.filter { !known.contains($0) }.sorted()
  }

  /// Returns the limit of a speaker; nil for none.
  func limit(id: String, name: String) -> SpeakerLimit? { limits[id] ?? limits[name] }

  /// Returns the highest volume that a limit allows at a moment, and the quiet hours that it comes from.
  func maximum(_ limit: SpeakerLimit, at now: WallTime) -> (volume: Int, quiet: QuietHours?) {
    guard let quiet = limit.quiet else { return (limit.maximum, nil) }
    let isQuiet = [now, now.advanced(by: Self.lead)].contains { quiet.contains(zone.local($0).time) }
    return isQuiet ? (quiet.maximum, quiet) : (limit.maximum, nil)
  }

  /// Returns a moment by which no limit changes before; nil without quiet hours.
  func nextChange(after now: WallTime) -> WallTime? {
    let hours = limits.values.compactMap(\.quiet)
    guard !hours.isEmpty else { return nil }
    let today = zone.local(now).date
    // The clocks may be put back into the quiet hours.
    let begin = Int(now.seconds)
    var next = WallTime(seconds: Int64(zone.change(after: begin, until: begin + 172_800)))
    for quiet in hours {
      for day in -1...2 {
        for (time, lead) in [(quiet.from, Self.lead), (quiet.to, Duration.zero)] {
          for moment in moments(LocalDateTime(today.advanced(by: day), time)) {
            let moment = moment.advanced(by: .zero - lead)
            if moment > now, moment < next { next = moment }
          }
        }
      }
    }
    return next
  }

  private func moments(_ time: LocalDateTime) -> [WallTime] {
    switch zone.match(time) {
    case .once(let moment), .skipped(let moment): [moment]
    case .twice(let first, let second): [first, second]
    }
  }
}
