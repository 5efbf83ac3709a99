public import EventLoop

/// Zones by the abbreviations that their clocks have now, as the database lists them: `JST`, `BST`.
extension ZoneFile {
  /// Reads the zone that a name means: one of the database, or an abbreviation, with or without
  /// daylight-saving time, if all zones that have it keep the same time.
  /// - Parameter folder: the folder of the database.
  /// - Throws: `schedule.zone`; for an abbreviation of several zones with their names.
  public init(meaning name: String, in folder: String = "/usr/share/zoneinfo") throws(ScheduleError) {
    let unknown: ScheduleError
    do throws(ScheduleError) {
      self = try ZoneFile(named: name, in: folder)
      return
    } catch { unknown = error }
    let zones = Self.zones(abbreviated: name, in: folder)
    guard let zone = zones.first else { throw unknown }
    guard zones.count == 1 else {
      throw ScheduleError(
        .zone, "\(quoted(name)) is the abbreviation of several time zones: \(zones.joined(separator: ", "))",
        hint: "name one of them")
    }
    self = try ZoneFile(named: zone, in: folder)
  }

  /// Returns the zones whose clocks have an abbreviation now: of those that keep the same time, a well-known
  /// one or the one of most countries. Reads the files of all zones.
  /// - Parameter folder: the folder of the database.
  public static func zones(abbreviated name: String, in folder: String = "/usr/share/zoneinfo") -> [String] {
    let wanted = name.uppercased()
    // Abbreviations have three letters or more.
    guard (3...6).contains(wanted.utf8.count), wanted.utf8.allSatisfy({ isLetter($0) }),
      let bytes = read(folder + "/zone1970.tab")
    else { return [] }
    var found: [(rule: String, name: String, countries: Int)] = []
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
      // The columns are countries, coordinates, name and comment, with tabs between.
      let columns = line.split(separator: "\t")
      guard columns.count > 2, let rule = footer(of: "\(folder)/\(columns[2])"),
        abbreviations(in: rule).contains(wanted)
      else { continue }
      let isKnown = wellKnown.contains(String(columns[2]))
      let countries = isKnown ? Int.max : columns[0].split(separator: ",").count
      guard let index = found.firstIndex(where: { $0.rule == rule }) else {
        found.append((rule, String(columns[2]), countries))
        continue
      }
      if countries > found[index].countries { found[index] = (rule, String(columns[2]), countries) }
    }
    return found.map(\.name)
  }

  /// Zones that stand for others of their country with the same time.
  private static let wellKnown: Set = [
    "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "Australia/Sydney",
  ]

  /// Returns the text of the rule at the end of a zone's file; nil for a file without a rule.
  private static func footer(of path: String) -> String? {
    guard let bytes = read(path), bytes.last == UInt8(ascii: "\n"),
      let start = bytes.dropLast().lastIndex(of: UInt8(ascii: "\n"))
    else { return nil }
    return String(decoding: bytes[(start + 1)...].dropLast(), as: UTF8.self)
  }

  /// Returns the abbreviations of a rule in capital letters: GMT and BST of `GMT0BST,M3.5.0/1,M10.5.0`.
  private static func abbreviations(in rule: String) -> [String] {
    let names = rule.prefix { $0 != "," }
    // Angle brackets enclose offsets instead of abbreviations.
    guard !names.contains("<") else { return [] }
    return names.split { !$0.isLetter }.map { $0.uppercased() }
  }
}
