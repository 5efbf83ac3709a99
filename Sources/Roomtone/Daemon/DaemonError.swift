public import EventLoop

/// A failure of the daemon or of a request to it.
public typealias DaemonError = Failure<DaemonErrorKind>

/// The kinds of failure of the daemon; the raw value is the stable code.
public enum DaemonErrorKind: String, FailureKind {
  /// Another process serves the house.
  case running = "daemon.running"
  /// Another process has the house, and is not a daemon.
  case busy = "speaker.busy"
  /// No daemon runs.
  case none = "ctl.none"
  /// The control socket can't be made.
  case socket = "daemon.socket"
  /// The folder of scripts can't be read.
  case folder = "daemon.folder"
  /// No script has the name.
  case unknownScript = "daemon.unknown_script"
  /// No job has the name, or several have it.
  case unknownJob = "daemon.unknown_job"
  /// The script does not run.
  case notRunning = "daemon.not_running"
}
