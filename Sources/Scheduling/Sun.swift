public import EventLoop
internal import Glibc

/// A point on the Earth.
public struct Location: Sendable, Hashable, CustomStringConvertible {
  /// The degrees north of the equator, -90 to 90.
  public let latitude: Double
  /// The degrees east of Greenwich, -180 to 180.
  public let longitude: Double

  /// Creates a point; nil if a number is outside its range.
  public init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    (self.latitude, self.longitude) = (latitude, longitude)
  }

  /// The point as `52.52, 13.4`.
  public var description: String { "\(latitude), \(longitude)" }
}

/// An event of the sun that a day has once, or, near the poles, not at all.
public enum SunEvent: String, Sendable, CaseIterable {
  /// The centre of the sun rises above 6° below the horizon: civil dawn.
  case dawn
  /// The upper edge of the sun rises above the horizon.
  case sunrise
  /// The sun is highest.
  case noon
  /// The upper edge of the sun sets below the horizon.
  case sunset
  /// The centre of the sun sets below 6° below the horizon: civil dusk.
  case dusk

  /// Returns the moment of the event on a date, between the midnights of the sun around the noon of the
  /// clocks in `zone`; nil if the sun stays above or below its elevation all that day.
  ///
  /// Source: the solar calculator of NOAA's Global Monitoring Laboratory, after Jean Meeus, "Astronomical
  /// Algorithms". Accurate within a minute between 72° north and south, for years near the present.
  public func moment(on date: CalendarDate, at location: Location, in zone: any LocalZone) -> WallTime? {
    let clockNoon = zone.match(LocalDateTime(date, .midday)).moment
    // The nearest mean noon of the sun.
    let offset = 43_200 - location.longitude * 240
    let day = ((Double(clockNoon.seconds) - offset) / 86_400).rounded()
    let meanNoon = day * 86_400 + offset
    var seconds = meanNoon
    // The sun moves until the event: three steps are exact to less than a second.
    for _ in 0..<3 {
      let sun = SunPosition(at: seconds)
      let noon = meanNoon - sun.equationOfTime
      guard let elevation else {
        seconds = noon
        continue
      }
      guard let angle = sun.hourAngle(atElevation: elevation, latitude: location.latitude) else { return nil }
      seconds = isBeforeNoon ? noon - angle * 240 : noon + angle * 240
    }
    return WallTime(seconds: Int64(seconds.rounded()))
  }

  /// The elevation of the sun's centre in degrees; nil for the highest. At the horizon the radius of the sun
  /// and refraction count as 0.833°.
  private var elevation: Double? {
    switch self {
    case .dawn, .dusk: -6
    case .sunrise, .sunset: -0.833
    case .noon: nil
    }
  }

  private var isBeforeNoon: Bool { self == .dawn || self == .sunrise }
}

/// The position of the sun, seen from the centre of the Earth.
private struct SunPosition {
  /// The degrees north of the equator.
  let declination: Double
  /// The time in seconds by which a sundial is ahead of a clock.
  let equationOfTime: Double

  /// Creates the position at `seconds` since 1970.
  init(at seconds: Double) {
    let centuries = (seconds / 86_400 + 2_440_587.5 - 2_451_545) / 36_525
    func sine(_ degrees: Double) -> Double { sin(degrees * .pi / 180) }
    let longitude = 280.46646 + centuries * (36_000.76983 + centuries * 0.0003032)
    let anomaly = 357.52911 + centuries * (35_999.05029 - centuries * 0.0001537)
    let eccentricity = 0.016708634 - centuries * (0.000042037 + centuries * 0.0000001267)
    let centre =
      sine(anomaly) * (1.914602 - centuries * (0.004817 + centuries * 0.000014))
      + sine(2 * anomaly) * (0.019993 - centuries * 0.000101) + sine(3 * anomaly) * 0.000289
    let node = 125.04 - 1934.136 * centuries
    let apparent = longitude + centre - 0.00569 - 0.00478 * sine(node)
    let meanObliquity =
      23 + (26 + (21.448 - centuries * (46.815 + centuries * (0.00059 - centuries * 0.001813))) / 60) / 60
    let obliquity = (meanObliquity + 0.00256 * sine(node + 90)) * .pi / 180
    declination = asin(sin(obliquity) * sine(apparent)) * 180 / .pi
    let y = pow(tan(obliquity / 2), 2)
    let radians =
      y * sine(2 * longitude) - 2 * eccentricity * sine(anomaly)
      + 4 * eccentricity * y * sine(anomaly) * sine(2 * longitude + 90)
      - y * y / 2 * sine(4 * longitude) - 1.25 * eccentricity * eccentricity * sine(2 * anomaly)
    equationOfTime = radians * 180 / .pi * 240
  }

  /// Returns the angle in degrees, 0 to 180, by which the Earth turns between noon and the sun's elevation;
  /// nil if the sun does not cross it.
  func hourAngle(atElevation elevation: Double, latitude: Double) -> Double? {
    let (latitude, declination) = (latitude * .pi / 180, declination * .pi / 180)
    let cosine =
      (sin(elevation * .pi / 180) - sin(latitude) * sin(declination)) / (cos(latitude) * cos(declination))
    return (-1...1).contains(cosine) ? acos(cosine) * 180 / .pi : nil
  }
}

/// A time of day by the sun: `sunset`, `sunset-20m`, `sunrise+1h30m`.
public struct SunTime: Sendable, Hashable, CustomStringConvertible {
  /// The limit of the offset.
  public static let maximumOffset = Duration.seconds(12 * 3600)

  /// The event.
  public let event: SunEvent
  /// The time after the event; negative before it.
  public let offset: Duration

  /// `true` if a text is meant as a time by the sun: it begins with a letter.
  public static func isMeant(by text: String) -> Bool { text.utf8.first.map(isLetter) ?? false }

  /// Parses the name of an event, and a duration after `+` or `-`.
  /// - Throws: `schedule.syntax`.
  public init(parsing text: String) throws(ScheduleError) {
    var reader = TextReader(text)
    let name = reader.run(where: isLetter)
    guard let event = SunEvent(rawValue: name) else {
      let known = SunEvent.allCases.map(\.rawValue)
      throw ScheduleError(
        .syntax, "\(quoted(text)) is not a time of day: no event of the sun is called \(quoted(name))",
        hint: nearest(name, among: known).map { "did you mean \($0)?" }
          ?? "write 06:45, 2026-12-24 18:00, or \(known.joined(separator: ", "))")
    }
    self.event = event
    if reader.isAtEnd {
      offset = .zero
      return
    }
    let isLater = reader.skip("+")
    guard isLater || reader.skip("-") else {
      throw ScheduleError(
        .syntax, "\(quoted(text)) is not a time of day: + or - expected after \(name)",
        hint: "write \(name)-20m or \(name)+1h")
    }
    let distance = try DurationText.parse(reader.run { _ in true })
    guard distance <= Self.maximumOffset else {
      throw ScheduleError(
        .syntax, "\(quoted(text)) is more than 12h away from \(name)", hint: "give another event")
    }
    offset = isLater ? distance : .zero - distance
  }

  /// Returns the first occurrence after a moment on dates with these days of the week, by the date of the
  /// event.
  /// - Returns: nil if the sun has no such event in the year that follows.
  func next(after moment: WallTime, on days: Weekdays, at location: Location, in zone: any LocalZone)
    -> WallTime?
  {
    search(after: moment, on: days, at: location, in: zone).found
  }

  /// Returns the first of the dates without the event between a moment and the next occurrence; nil if all
  /// have it.
  func dateWithout(
    after moment: WallTime, on days: Weekdays, at location: Location, in zone: any LocalZone
  ) -> CalendarDate? {
    search(after: moment, on: days, at: location, in: zone).without
  }

  private func search(
    after moment: WallTime, on days: Weekdays, at location: Location, in zone: any LocalZone
  ) -> (found: WallTime?, without: CalendarDate?) {
    let today = zone.local(moment).date
    var without: CalendarDate?
    // An offset, or a zone far from the sun's time, may lead to the day before or after.
    for date in (-1...373).map(today.advanced) where days.contains(date.weekday) {
      guard let due = event.moment(on: date, at: location, in: zone)?.advanced(by: offset) else {
        if date >= today { without = without ?? date }
        continue
      }
      if due > moment { return (due, without) }
    }
    return (nil, without)
  }

  /// The time in the form that `init(parsing:)` reads.
  public var description: String {
    if offset == .zero { return event.rawValue }
    return event.rawValue + (offset < .zero ? "" : "+") + DurationText.describe(offset)
  }
}
