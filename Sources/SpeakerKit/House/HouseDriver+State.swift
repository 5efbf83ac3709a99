public import EventLoop

/// Access to a house that is kept in a state folder.
public enum HouseAccess: Sendable {
  /// Playback and changes; granted to one process at a time.
  case drive
  /// Changes of levels without any sound: opens no output and plays nothing. Levels that a server keeps are changed also
  /// while another process drives its speakers; those of the embedded house are kept in the state folder, which one process
  /// at a time has.
  case adjust
  /// Inspection of the saved state, also while another process drives the house: takes no lock, opens no
  /// output, starts no thread, and writes nothing.
  case look
}

/// The process that drives a house, as far as it has published that.
public struct HouseOwner: Sendable, Equatable, CustomStringConvertible {
  /// The process id; nil when not published.
  public let processID: Int32?
  /// The name of the process, one line; nil when not published.
  public let name: String?
  /// The output of the house, as `Output.text`; nil when not published.
  public let output: String?
  /// The sources that play or are paused, a line for each session: `wake_up.mp3 in Kitchen`; nil when not
  /// published.
  public let playing: [String]?

  /// Creates the description of a process.
  public init(
    processID: Int32? = nil, name: String? = nil, output: String? = nil, playing: [String]? = nil
  ) {
    (self.processID, self.name, self.output, self.playing) = (processID, name, output, playing)
  }

  /// The name and id, as `roomtone (process 123)`.
  public var description: String {
    processID.map { "\(name ?? "another program") (process \($0))" } ?? "another process"
  }
}

extension HouseDriver {
  /// Returns the process that drives the house kept in the folder at `path`; nil for none. Any thread; takes
  /// no lock and changes nothing.
  /// - Throws: `speaker.lost` when the folder's lock can't be inspected.
  public static func owner(ofStateFolder path: String) throws(SpeakerError) -> HouseOwner? {
    try StateFolder(path: path).owner()
  }
}

extension HouseDriver {
  /// Returns the speakers of a house in their saved state, without opening it. Any thread; takes no lock and changes
  /// nothing.
  /// - Parameters:
  ///   - specs: the configured speakers; nil for the demonstration house.
  ///   - path: the state folder; nil for none.
  /// - Throws: as the house does for wrong speakers.
  public static func savedSpeakers(_ specs: [SpeakerSpec]?, stateFolder path: String?) throws(SpeakerError)
    -> [DeviceInfo]
  {
    let devices = if let specs { try HouseSpeakers.configured(specs) } else { HouseSpeakers.demonstration }
    return path.flatMap { StateFolder(path: $0).read(setsAside: false) { _ in } }?.applied(to: devices)
      ?? devices
  }

  /// Publishes the playing sources to processes that inspect the house.
  public func announce(playing: [String]) {
    context.state?.announce(output: plan?.text ?? output.text, playing: playing)
  }
}
