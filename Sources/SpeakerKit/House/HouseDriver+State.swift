internal import EventLoop

/// What somebody wants of a house that is kept in a state folder.
public enum HouseAccess: Sendable {
  /// To let it sound and to change it, which one process at a time can.
  case drive
  /// To see how it was left, also while another process drives it: takes no lock, opens no output, starts no thread,
  /// and writes nothing.
  case look
}

/// The process that drives a house, as far as it told.
public struct HouseOwner: Sendable, Equatable, CustomStringConvertible {
  /// Its number; nil when it did not tell.
  public let processID: Int32?
  /// Its name, one line; nil when it did not tell.
  public let name: String?
  /// The output of the house, as `Output.text`; nil when it was not reported.
  public let output: String?
  /// Sources that play or are paused, a line for each session: `wake_up.mp3 in Kitchen`; nil when not reported.
  public let playing: [String]?

  /// A process that told this of itself.
  public init(
    processID: Int32? = nil, name: String? = nil, output: String? = nil, playing: [String]? = nil
  ) {
    (self.processID, self.name, self.output, self.playing) = (processID, name, output, playing)
  }

  /// `roomtone (process 123)`.
  public var description: String {
    processID.map { "\(name ?? "another program") (process \($0))" } ?? "another process"
  }
}

extension HouseDriver {
  /// Who drives the house that is kept in the folder at `path`; nil when nobody does. Any thread; takes nothing and
  /// changes nothing.
  /// - Throws: `speaker.lost` when the folder's lock can't be looked at.
  public static func owner(ofStateFolder path: String) throws(SpeakerError) -> HouseOwner? {
    try StateFolder(path: path).owner()
  }
}

/// What stays between runs.
extension HouseDriver {
  /// How long changes are gathered before they are written.
  private static let writingDelay = Duration.seconds(1)
  /// How often a waiting process asks for the lock.
  private static let lockInterval = Duration.milliseconds(100)

  /// Takes the lock of the state folder, waiting for it as long as was asked.
  /// - Throws: `speaker.busy`, `speaker.lost`, `speaker.closed` when the driver is closed meanwhile,
  ///   `CancellationError`.
  func lockState() async throws {
    guard let state, access == .drive else { return }
    var left = lockWait
    var hasTold = false
    while let owner = try state.lock(as: processName) {
      guard left > .zero else {
        throw SpeakerError(
          .busy, "\(owner) has the house", hint: "end it, or wait longer",
          facts: [.init("process", .string(owner.description)), .init("path", .string(state.path))])
      }
      if !hasTold { log("\(owner) has the house: waiting for it") }
      hasTold = true
      let step = min(left, Self.lockInterval)
      try await loop.sleep(for: step)
      guard !isClosed else { throw House.closedError }
      left -= step
    }
  }

  /// Lets those who look at the house know what plays.
  public func announce(playing: [String]) {
    if access == .drive { state?.announce(output: output.text, playing: playing) }
  }

  /// Something that is kept has changed.
  func stateChanged() {
    guard state != nil, access == .drive, stateTimer == nil else { return }
    stateTimer = loop.after(Self.writingDelay) { [weak self] in self?.writeState() }
  }

  /// Writes what has changed; now.
  func writeState() {
    guard let timer = stateTimer else { return }
    timer.cancel()
    stateTimer = nil
    do { try state?.write(HouseState(present, besides: kept)) } catch { log(error.message) }
  }
}
