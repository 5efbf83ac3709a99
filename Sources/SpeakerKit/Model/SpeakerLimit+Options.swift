internal import EventLoop
internal import Scheduling

// `max_volume` and `quiet` of a speaker in `house { speakers = … }`.

extension SpeakerLimit {
  /// The options of a speaker that limit it.
  static let options = [
    DriverOption("max_volume", .int(House.volumeRange)),
    DriverOption(
      "quiet",
      .table([
        DriverOption("from", .text), DriverOption("to", .text), DriverOption("max", .int(House.volumeRange)),
      ])),
  ]

  /// The option of a driver whose server has the speakers: the limits of some of them.
  static let speakers = DriverOption(
    "speakers",
    .tables(
      limit: 256, [DriverOption("name", .name)] + options, expected: "a list of at most 256 speakers expected"
    )
  )

  /// Reads the limit of a speaker; nil without one.
  /// - Throws: errors of `options`, also for limits that contradict each other.
  static func read(_ options: DriverOptions) throws -> SpeakerLimit? {
    let maximum: Int? = try options.value("max_volume")
    guard let table: DriverOptions = try options.value("quiet") else {
      return maximum.flatMap { SpeakerLimit(maximum: $0) }
    }
    let (from, to) = (try time("from", table), try time("to", table))
    guard let volume: Int = try table.value("max") else {
      throw table.problem("max", "the highest volume of the quiet hours is missing")
    }
    guard from != to else {
      throw table.problem(
        "to", "the quiet hours end when they begin, at \(from)", hint: "a limit for all day is max_volume")
    }
    let most = maximum ?? House.maximumVolume
    guard volume <= most else {
      throw table.problem(
        "max", "\(volume) is above the speaker's max_volume, \(most)",
        hint: "quiet hours lower the limit: write at most \(most)")
    }
    return QuietHours(from: from, to: to, maximum: volume).flatMap { SpeakerLimit(maximum: most, quiet: $0) }
  }

  private static func time(_ name: String, _ options: DriverOptions) throws -> TimeOfDay {
    guard let text: String = try options.value(name) else {
      throw options.problem(name, "a time of day is missing, as in \"22:00\"")
    }
    do throws(ScheduleError) { return try TimeOfDay(parsing: text) } catch {
      throw options.problem(name, error.message, hint: error.hint)
    }
  }

  /// Reads the limits of speakers that a server has, by their ids or names.
  /// - Throws: errors of `options`.
  static func byName(_ options: DriverOptions) throws -> [String: SpeakerLimit] {
    var limits: [String: SpeakerLimit] = [:]
    let tables: [DriverOptions] = try options.value("speakers") ?? []
    for table in tables {
      guard let name: String = try table.value("name"), !name.isEmpty else {
        throw table.problem("name", "the name or the id of a speaker is missing")
      }
      guard limits[name] == nil else {
        throw table.problem(
          "name", "two limits are for \(quoted(name))", hint: "write max_volume and quiet into one of them")
      }
      guard let limit = try read(table) else {
        throw table.problem(
          "max_volume", "\(quoted(name)) has neither max_volume nor quiet, and its server keeps all else")
      }
      limits[name] = limit
    }
    return limits
  }
}
