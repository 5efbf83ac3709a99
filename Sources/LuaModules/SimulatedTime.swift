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
        call.return(.number(Instant.start.duration(to: loop.now).luaSeconds))
      },
      LuaFunction("date") { call in
        let format = call.isNil(1) ? "%c" : try call.string(1)
        let seconds =
          call.isNil(2)
          ? Int(loop.wallNow.seconds) : try call.int(2, in: -67_768_040_609_740_800...67_768_036_191_676_799)
        let isUTC = format.hasPrefix("!")
        var fields = isUTC ? utc(seconds) : local(seconds, zone)
        let pattern = isUTC ? String(format.dropFirst()) : format
        if pattern.hasPrefix("*t") { return call.return(table(fields)) }
        return call.return(.string(try text(pattern, &fields, call)))
      },
    ]
  }

  private static func utc(_ seconds: Int) -> tm {
    var (seconds, fields) = (time_t(seconds), tm())
    gmtime_r(&seconds, &fields)
    return fields
  }

  private static func local(_ seconds: Int, _ zone: any LocalZone) -> tm {
    let offset = zone.offset(at: seconds)
    var fields = utc(seconds + offset)
    fields.tm_gmtoff = offset
    // Summer time is what is ahead of the zone's smallest offset of that year.
    let halfYear = 15_778_800
    fields.tm_isdst =
      offset > min(zone.offset(at: seconds - halfYear), zone.offset(at: seconds + halfYear)) ? 1 : 0
    return fields
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

  /// Formats piece by piece, as one unknown conversion must be told and not guessed.
  private static func text(_ pattern: String, _ fields: inout tm, _ call: LuaCall) throws -> String {
    let known = Set("aAbBcdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%")
    var result = ""
    var rest = Substring(pattern)
    while let percent = rest.firstIndex(of: "%") {
      result += rest[..<percent]
      rest = rest[percent...].dropFirst()
      guard let letter = rest.first, known.contains(letter) else {
        throw call.problem(1, "invalid conversion specifier '%\(rest.first.map(String.init) ?? "")'")
      }
      rest = rest.dropFirst()
      var buffer = [CChar](repeating: 0, count: 128)
      let count = strftime(&buffer, buffer.count, "%\(letter)", &fields)
      result += String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return result + rest
  }

  /// A table of local time to seconds; fields outside their ranges carry, as in Lua.
  private static func time(_ call: LuaCall, _ zone: any LocalZone) throws -> Int {
    let options = try call.options(
      1, ["year", "month", "day", "hour", "min", "sec", "isdst", "wday", "yday"])
    func field(_ name: String, _ missing: Int?) throws -> Int {
      guard let value = try options.int(name, in: -1_000_000_000...1_000_000_000) ?? missing else {
        throw call.problem(1, "field '\(name)' missing in date table")
      }
      return value
    }
    var fields = tm()
    fields.tm_year = Int32(try field("year", nil) - 1900)
    fields.tm_mon = Int32(try field("month", nil) - 1)
    fields.tm_mday = Int32(try field("day", nil))
    fields.tm_hour = Int32(try field("hour", 12))
    fields.tm_min = Int32(try field("min", 0))
    fields.tm_sec = Int32(try field("sec", 0))
    let asUTC = timegm(&fields)
    // The offset is that of the moment itself, found from one close to it.
    let guess = asUTC - zone.offset(at: asUTC)
    return asUTC - zone.offset(at: guess)
  }
}
