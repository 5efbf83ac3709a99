internal import SpeakerKit

/// The values that a shell proposes for an option or an operand.
enum ValueSource: Sendable, Equatable {
  /// Words out of a list.
  case words([String])
  /// Beginnings that the user continues, such as `alsa:`: no blank follows them.
  case beginnings([String])
  /// Files whose names end in one of these extensions, or all files for an empty list; and folders that lead to them.
  /// `behind` is the part of the value before the path, such as `unix:`.
  case files([String] = [], behind: String = "")
  /// Folders; `behind` is the part of the value before the path, such as `wav:`.
  case folders(behind: String = "")
  /// Names that only this machine knows.
  case names(NameKind)
  /// The names of the program's commands.
  case commands

  static let luaFiles = ValueSource.files(["lua"])
}

/// The kinds of names that a query looks up.
enum NameKind: String, CaseIterable, Sendable {
  /// Rooms and speakers of the house.
  case rooms
  /// Stations of the configuration.
  case stations
  /// Jobs of `roomtone` in the user's crontab.
  case jobs
  /// Jobs of the daemon's scripts.
  case daemonJobs
  /// Scripts of the daemon.
  case scripts
  /// Webhooks of the configuration.
  case hooks
  /// Modules, functions and pages of the reference.
  case topics
  /// Inhabited zones of the time zone database.
  case zones
}

extension OptionKind {
  /// The values that shells propose for an option of this kind, unless its spec names others.
  var sources: [ValueSource] {
    switch self {
    case .file: [.files()]
    case .folder: [.folders()]
    case .timeZone: [.names(.zones)]
    case .output: Self.outputs
    case .choice(let words): [.words(words)]
    case .flag, .text, .code, .duration, .dateTime, .moment, .number: []
    }
  }

  private static var outputs: [ValueSource] {
    var (words, devices, folders): ([String], [String], [ValueSource]) = ([], [], [])
    for (name, form) in Output.forms {
      switch form {
      case .bare: words.append(name)
      case .device:
        words.append(name)
        devices.append("\(name):")
      case .folder: folders.append(.folders(behind: "\(name):"))
      }
    }
    return [.words(words), .beginnings(devices)] + folders
  }
}
