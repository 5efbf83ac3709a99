internal import EventLoop

/// A failure of a command itself, other than wrong usage. The process exits with status 1.
typealias CommandFailure = Failure<CommandFailureKind>

/// The kinds of failure of the commands; the raw value is the stable code.
enum CommandFailureKind: String, FailureKind {
  /// The crontab can't be read or changed.
  case cron = "cron.failed"
  /// The system has no crontab.
  case noCron = "cron.missing"
  /// A line is longer than cron accepts.
  case cronLine = "cron.long"
  /// Another job of the crontab has the name.
  case duplicateJob = "cron.duplicate"
  /// No job of the crontab has the name.
  case unknownJob = "cron.unknown"
  /// A firmware file can't be written.
  case firmwareFile = "firmware.write"
  /// A lock file can't be opened or locked.
  case lock = "lock.failed"
  /// Another process records the same job.
  case recordingJob = "record.busy"
  /// The catalogue knows no such recording.
  case unknownRecording = "record.unknown"
  /// The folder of recordings can't be read, or does not exist.
  case recordingFolder = "record.write"
  /// The folder of a simulation can't be created.
  case scratchFolder = "simulate.scratch"
  /// The page of a simulation can't be written.
  case page = "simulate.page"
  /// The definitions for editors can't be written.
  case definitions = "meta.write"
  /// The report of tests can't be written.
  case report = "test.report"
  /// No daemon runs.
  case noDaemon = "ctl.none"
  /// The control socket can't be used.
  case socket = "ctl.socket"
  /// The unit of the service can't be written.
  case unit = "serve.unit"
}
