internal import EventLoop
internal import Glibc
internal import LuaRuntime
internal import Scheduling

/// `os.time`, `os.date` and `os.clock` on the virtual clock and in the simulation's zone.
enum SimulatedTime {
  static func functions(_ loop: EventLoop, _ zone: any LocalZone) -> [LuaFunction] {
    [
      LuaFunction("time") { call in
        if call.isNil(1) { return call.return(Int(loop.wallNow.seconds)) }
        return call.return(try time(call, zone))
      },
      LuaFunction("clock") { call in
        call.return(.number(Instant.start.duration(to: loop.now).inSeconds))
      },
      LuaFunction("date") { call in
        let format = call.isNil(1) ? "%c" : try call.string(1)
        let seconds = call.isNil(2) ? Int(loop.wallNow.seconds) : try call.int(2)
        let isUTC = format.hasPrefix("!")
        guard representable.contains(seconds),
          var fields = isUTC ? utc(seconds) : local(seconds, zone)
        else {
          throw call.problem(2, "date result cannot be represented in this installation")
        }
        let pattern = isUTC ? String(format.dropFirst()) : format
        if pattern.hasPrefix("*t") { return call.return(table(fields)) }
        let zoneName = isUTC ? "GMT" : abbreviation(at: seconds, zone)
        return call.return(.string(try text(pattern, &fields, zoneName, call)))
      },
    ]
  }

  /// The moments whose year the C library can hold.
  private static let representable = -67_768_040_609_740_800...67_768_036_191_676_799

  /// Returns the fields in UTC; nil when the year is too large for the C library.
  private static func utc(_ seconds: Int) -> tm? {
    var (seconds, fields) = (time_t(seconds), tm())
    return gmtime_r(&seconds, &fields) == nil ? nil : fields
  }

  private static func local(_ seconds: Int, _ zone: any LocalZone) -> tm? {
    let offset = zone.offset(at: seconds)
    guard var fields = utc(seconds + offset) else { return nil }
    fields.tm_gmtoff = offset
    fields.tm_isdst = isSummerTime(at: seconds, zone) ? 1 : 0
    return fields
  }

  /// `true` if the zone's offset is greater than one of those within half a year: one of four tests, a
  /// quarter of a year apart, always falls into a winter.
  private static func isSummerTime(at seconds: Int, _ zone: any LocalZone) -> Bool {
    let quarter = 7_889_400
    return [-2, -1, 1, 2].contains { zone.offset(at: seconds + $0 * quarter) < zone.offset(at: seconds) }
  }

  /// The text of `%Z`. A zone of the database has no letters here, and its offset is its name, as for many
  /// zones there: `+01`.
  private static func abbreviation(at seconds: Int, _ zone: any LocalZone) -> String {
    if zone is ProcessZone {
      var (time, fields) = (time_t(seconds), tm())
      if localtime_r(&time, &fields) != nil, let name = fields.tm_zone { return String(cString: name) }
    }
    let offset = zone.offset(at: seconds)
    let minutes = abs(offset) / 60
    let digits = minutes % 60 == 0 ? [minutes / 60] : [minutes / 60, minutes % 60]
    return (offset < 0 ? "-" : "+") + digits.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined()
  }

  private static func table(_ fields: tm) -> LuaValue {
    .record([
      ("year", .int(Int(fields.tm_year) + 1900)), ("month", .int(Int(fields.tm_mon) + 1)),
      ("day", .int(Int(fields.tm_mday))), ("hour", .int(Int(fields.tm_hour))),
      ("min", .int(Int(fields.tm_min))),
      ("sec", .int(Int(fields.tm_sec))), ("yday", .int(Int(fields.tm_yday) + 1)),
      ("wday", .int(Int(fields.tm_wday) + 1)), ("isdst", .bool(fields.tm_isdst > 0)),
    ])
  }

  /// `true` for a conversion of C99, which Lua accepts; only some of them may follow E or O.
  private static func isKnown(_ letter: Character, after modifier: Character?) -> Bool {
    switch modifier {
    case "E": "cCxXyY".contains(letter)
    case "O": "deHImMSuUVwWy".contains(letter)
    default: "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%".contains(letter)
    }
  }

  /// Formats piece by piece, since an unknown conversion must be refused, not guessed.
  private static func text(
    _ pattern: String, _ fields: inout tm, _ zoneName: String, _ call: LuaCall
  ) throws -> String {
    var result = ""
    var rest = Substring(pattern)
    while let percent = rest.firstIndex(of: "%") {
      result += rest[..<percent]
      rest = rest[percent...].dropFirst()
      let modifier = rest.first.flatMap { "EO".contains($0) ? $0 : nil }
      let conversion = rest.prefix(modifier == nil ? 1 : 2)
      guard let letter = conversion.dropFirst(modifier == nil ? 0 : 1).first, isKnown(letter, after: modifier)
      else { throw call.problem(1, "invalid conversion specifier '%\(conversion)'") }
      rest = rest.dropFirst(conversion.count)
      if letter == "Z" {
        result += zoneName
        continue
      }
      var buffer = [CChar](repeating: 0, count: 256)
      let count = strftime(&buffer, buffer.count, "%\(conversion)", &fields)
      result += String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return result + rest
  }

  /// Converts a table of local time to seconds; fields outside their ranges carry, and other fields are
  /// ignored, as in Lua.
  private static func time(_ call: LuaCall, _ zone: any LocalZone) throws -> Int {
    let given = Dictionary(try call.fields(1), uniquingKeysWith: { first, _ in first })
    func field(_ name: String, _ missing: Int?, less base: Int = 0) throws -> Int32 {
      guard let text = given[name] else {
        if let missing { return Int32(missing) }
        throw call.problem(1, "field '\(name)' missing in date table")
      }
      guard let value = whole(text) else { throw call.problem(1, "field '\(name)' is not an integer") }
      let (difference, overflow) = value.subtractingReportingOverflow(base)
      guard !overflow, let result = Int32(exactly: difference) else {
        throw call.problem(1, "field '\(name)' is out-of-bound")
      }
      return result
    }
    var fields = tm()
    fields.tm_year = try field("year", nil, less: 1900)
    fields.tm_mon = try field("month", nil, less: 1)
    fields.tm_mday = try field("day", nil)
    fields.tm_hour = try field("hour", 12)
    fields.tm_min = try field("min", 0)
    fields.tm_sec = try field("sec", 0)
    errno = 0
    let asUTC = timegm(&fields)
    if asUTC == -1 && errno == EOVERFLOW {
      throw call.problem(1, "time result cannot be represented in this installation")
    }
    return moment(asUTC, isSummerTime: given["isdst"].map { $0 != "false" }, zone)
  }

  /// The moment at which the zone's clocks show the same time as clocks of UTC at `asUTC`. The offset is that
  /// of the moment itself, found from a moment close to it; or that of the nearest moment with or without
  /// summer time, if `isSummerTime` requires that.
  private static func moment(_ asUTC: Int, isSummerTime wanted: Bool?, _ zone: any LocalZone) -> Int {
    let guess = asUTC - zone.offset(at: asUTC)
    let moment = asUTC - zone.offset(at: guess)
    let isShown = moment + zone.offset(at: moment) == asUTC  // the clocks may be put forward over it
    guard let wanted, !isShown || wanted != isSummerTime(at: moment, zone) else { return moment }
    for days in 1...366 {
      for near in [moment - days * 86_400, moment + days * 86_400]
      where isSummerTime(at: near, zone) == wanted { return asUTC - zone.offset(at: near) }
    }
    return moment + (wanted ? -3600 : 3600)  // the C library assumes an hour for a zone without summer time
  }

  /// A whole number as Lua reads one: `2026`, `2026.0`, `0x7ea`, with space around it.
  private static func whole(_ text: String) -> Int? {
    let digits = text.drop { " \t\n".contains($0) }.prefix { !" \t\n".contains($0) }
    if digits.isEmpty { return nil }
    return Int(digits) ?? Double(digits).flatMap { Int(exactly: $0) }
  }
}
