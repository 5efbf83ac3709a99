public import EventLoop

/// An error in a schedule, a time, a duration or a zone.
public typealias ScheduleError = Failure<ScheduleErrorKind>

/// The kinds of errors in schedules, times, durations and zones; the raw value is the stable code, as scripts see it.
public enum ScheduleErrorKind: String, FailureKind {
  /// A text that cannot be parsed, or an invalid schedule.
  case syntax = "schedule.syntax"
  /// A moment that has passed.
  case past = "schedule.past"
  /// A name that another job of the owner has.
  case duplicate = "schedule.duplicate"
  /// A time zone that does not exist or cannot be read.
  case zone = "schedule.zone"
  /// A time by the sun without a location.
  case location = "schedule.location"
}
