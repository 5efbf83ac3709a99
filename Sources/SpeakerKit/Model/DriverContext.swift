public import EventLoop
public import HTTP

/// The surroundings of a driver: its loop, the folder that one process at a time has, and its log. For one driver.
public struct DriverContext {
  /// The loop of the driver.
  let loop: EventLoop
  /// The folder in which the house is kept between runs, and by which one process at a time drives it; nil
  /// for none.
  let state: StateFolder?
  /// The requested access to the house.
  let access: HouseAccess
  private let lockWait: Duration
  private let processName: String
  private let service: String?
  /// Returns the thread that transfers.
  let network: () throws -> NetworkThread
  /// Receives one line for a person to read; called on the loop.
  let log: (String) -> Void

  /// Creates the surroundings of a driver on `loop`.
  /// - Parameters:
  ///   - stateFolder: folder that one process at a time has; nil keeps nothing.
  ///   - access: playback and changes, or inspection only.
  ///   - wait: timeout of opening while another process has the folder.
  ///   - processName: the name published to other processes while this one has the folder.
  ///   - service: the name of a process that keeps the folder for ever and is not waited for; nil for none.
  ///   - network: returns the thread that transfers; by default one of the driver's own.
  ///   - log: receives one line for a person to read; called on the loop.
  public init(
    loop: EventLoop, stateFolder: String? = nil, access: HouseAccess = .drive, wait: Duration = .seconds(30),
    processName: String = "roomtone", service: String? = nil,
    network: @escaping () throws -> NetworkThread = { try NetworkThread() },
    log: @escaping (String) -> Void = { _ in }
  ) {
    self.loop = loop
    state = stateFolder.map(StateFolder.init)
    self.access = access
    lockWait = wait
    self.processName = processName
    self.service = service
    self.network = network
    self.log = log
  }

  /// Acquires the lock of the state folder, waiting for it.
  /// - Parameter isClosed: returns `true` if the driver was closed meanwhile.
  /// - Throws: `speaker.busy`, `speaker.lost`, `speaker.closed`, `CancellationError`.
  func lock(isClosed: () -> Bool) async throws {
    try await state?.lock(
      on: loop, wait: lockWait, as: processName, service: service, log: log, isClosed: isClosed)
  }
}
