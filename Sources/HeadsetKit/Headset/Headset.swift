public import EventLoop
public import HeadsetLink

/// A headset, as scripts see it. Confined to a loop.
///
/// Once connected it stays so: a connection that is lost is made anew, until `disconnect`. What its board does not
/// have is refused as `unsupported`.
public final class Headset {
  /// The presets by their numbers.
  public static let presetNames = ["music", "movie", "voice", "user"]

  /// The name of a preset; nil for one beyond those that have names.
  public static func presetName(_ number: Int) -> String? {
    presetNames.indices.contains(number) ? presetNames[number] : nil
  }

  /// The address, as messages show it.
  public let address: String
  let loop: EventLoop
  let driver: any HeadsetDriver
  /// The file of the key that firmware must be signed for, read for each update; nil for the development key.
  let firmwareKeyFile: String?
  /// Receives a line about a key that protects nothing.
  var onWarning: (String) -> Void = { _ in }
  /// The description of the board in the last connection.
  var board: BoardInfo?
  /// The shape of the equalizer; nil until it is requested in this connection.
  var shape: EqualizerShape?
  /// The ambient levels that are known in this connection.
  var ambientLevels: [Side: Int] = [:]
  /// `true` while an update or a restart has the headset for itself.
  var isReserved = false

  /// `true` while a lost connection is made again.
  private(set) var isWanted = false
  private var retry: LoopTimer?
  private var delay = Backoff.connecting
  /// The connection that is being made.
  private var attempt: PendingAnswer<Void>?
  private var isConnecting: Bool { attempt != nil }
  /// `true` if the connection that is being made is to be ended.
  private var isGivenUp = false
  private var listeners = Listeners<(HeadsetEvent) -> Void>()

  /// - Parameter firmwareKeyFile: the file of the key that firmware must be signed for; nil for the development key.
  init(driver: any HeadsetDriver, loop: EventLoop, firmwareKeyFile: String? = nil) {
    (self.driver, self.loop, address) = (driver, loop, driver.name)
    self.firmwareKeyFile = firmwareKeyFile
    driver.onEvent = { [weak self] in self?.receive($0) }
    driver.onLost = { [weak self] in self?.lost($0) }
  }

  deinit {
    retry?.cancel()
    driver.drop()
  }

  // MARK: What it is

  /// `true` while requests can be made.
  public var isConnected: Bool { driver.isConnected }
  /// `true` while an update or a restart has the headset for itself.
  public var isBusy: Bool { isReserved }
  /// The accessory's own name, its model if it has none; nil before it was ever connected.
  public var name: String? { board.map { $0.name.isEmpty ? $0.model : $0.name } }
  /// The maker's name of the model; nil before the first connection.
  public var model: String? { board?.model }
  /// The version of its firmware; nil before it was ever connected.
  public var firmwareVersion: String? { board?.firmwareVersion }
  /// The names of its capabilities, sorted; empty before the first connection.
  public var capabilities: [String] { board?.capabilities.names ?? [] }

  // MARK: The connection

  /// `true` while the headset is connected or about to be. Once it is false the object stays unused:
  /// connecting creates another one.
  public var isInUse: Bool { driver.isConnected || isConnecting && !isGivenUp || isWanted || isReserved }

  /// Connects, once; then the connection is kept. While another one connects, its outcome is waited for.
  /// - Throws: `alreadyConnected`, `notAvailable`, `connectionFailed`, `timeout`, `auth`, `challengeLength`.
  public func connect() async throws(HeadsetError) {
    if let attempt { try await attempt.value() }
    guard !driver.isConnected, !isConnecting, !isReserved else {
      throw HeadsetError(
        .alreadyConnected, "the headset at \(address) is connected already",
        hint: "headset.list() has it; disconnect it first to connect anew")
    }
    retry?.cancel()
    do throws(HeadsetError) { try await open() } catch {
      // It may be looked for, and goes on being so.
      if isWanted && !driver.isConnected { tryAgain(after: delay.next()) }
      throw error
    }
    isWanted = true
  }

  /// Connects the headset as soon as it is there, and keeps it connected.
  func keepConnected() {
    guard !isWanted else { return }
    isWanted = true
    if !driver.isConnected && !isConnecting { tryAgain(after: .zero) }
  }

  /// Ends the connection, and does not make it anew.
  public func disconnect() async {
    let was = driver.isConnected && !isConnecting
    (isWanted, isGivenUp) = (false, isConnecting)
    retry?.cancel()
    retry = nil
    await driver.disconnect()
    emit(was ? .disconnected("disconnected") : .released)
  }

  private func open() async throws(HeadsetError) {
    let attempt = PendingAnswer<Void>()
    (self.attempt, isGivenUp) = (attempt, false)
    do throws(HeadsetError) { try await makeConnection() } catch {
      self.attempt = nil
      attempt.resolve(.failure(error))
      throw error
    }
    self.attempt = nil
    attempt.resolve(.success(()))
    emit(.connected)
  }

  private func makeConnection() async throws(HeadsetError) {
    let board = try await driver.connect()
    // It may have been given up, or lost, before this task's turn came.
    guard driver.isConnected, !isGivenUp else {
      throw HeadsetError(.connectionFailed, "the connection to \(address) was lost at once")
    }
    begin(with: board)
    delay.reset()
  }

  /// Notes who the board is that was connected; what was known of the one before counts no more.
  func begin(with board: BoardInfo) {
    self.board = board.cleaned
    (shape, ambientLevels) = (nil, [:])
  }

  private func lost(_ error: HeadsetError) {
    // Whoever has the headset for itself sees to the connection, too, as who makes it.
    guard !isReserved, !isConnecting else { return }
    emit(.disconnected(error.message))
    if isWanted { tryAgain(after: delay.next()) }
  }

  /// Ends the reservation, and makes a connection that was lost meanwhile again.
  func release() {
    isReserved = false
    if !driver.isConnected && isWanted { lost(HeadsetError(.notConnected, "it has not come back")) }
  }

  private func tryAgain(after delay: Duration) {
    retry = loop.after(delay) { [weak self] in
      guard let self, isWanted, !isReserved, !isConnecting, !driver.isConnected else { return }
      loop.start { [weak self] in await self?.retryNow() }
    }
  }

  private func retryNow() async {
    var failure: HeadsetError?
    do throws(HeadsetError) { try await open() } catch { failure = error }
    guard let failure, isWanted else {
      // It was given up while it came about.
      if failure == nil && !isWanted { await driver.disconnect() }
      return
    }
    switch failure.kind {
    case .auth, .challengeLength, .noData:
      isWanted = false
      emit(.error(failure))
    default: tryAgain(after: delay.next())
    }
  }

  // MARK: Events

  /// Subscribes `body` to all events, on the loop.
  /// - Returns: a function that ends the subscription.
  public func listen(_ body: @escaping (HeadsetEvent) -> Void) -> () -> Void {
    let number = listeners.add(body)
    return { [weak self] in self?.listeners.remove(number) }
  }

  func emit(_ event: HeadsetEvent) { for listener in listeners.all { listener(event) } }

  private func receive(_ event: DriverEvent) {
    switch event {
    case .noiseCancelling(let isOn): emit(.noiseCancelling(isOn))
    case .ambient(let side, let level): receiveAmbient(side, level)
    case .equalizer(let preset, let values): emit(.equalizer(preset: preset, values: values))
    case .battery(let percent, let isCharging):
      emit(.battery(HeadsetBattery(percent: percent, isCharging: isCharging)))
    case .bootloader: emit(.bootloader)
    case .transfer: break
    case .unreadable(let error): emit(.error(error))
    }
  }

  /// Emits the levels of both sides, though a board reports one; the other is requested once.
  private func receiveAmbient(_ side: Side, _ level: Int) {
    ambientLevels[side] = level
    let other: Side = side == .left ? .right : .left
    if let known = ambientLevels[other] { return emitAmbient([side: level, other: known]) }
    loop.start { [weak self] in
      guard let self, let answer = try? await driver.request(GetAmbient(side: other)) else { return }
      ambientLevels[other] = Int(answer.level)
      emitAmbient(ambientLevels)
    }
  }

  private func emitAmbient(_ levels: [Side: Int]) {
    guard let left = levels[.left], let right = levels[.right] else { return }
    emit(.ambient(left: left, right: right))
  }
}

extension Backoff {
  /// The delay between attempts to connect a headset: half a second at first, 10 s at most.
  static let connecting = Backoff(from: .milliseconds(500), upTo: .seconds(10))
}
