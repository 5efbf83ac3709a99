public import EventLoop
public import HeadsetLink

/// A headset, as scripts see it. Confined to a loop.
///
/// Once connected it stays connected: a lost connection is made again, until `disconnect`. Requests that its
/// board does not support are refused as `unsupported`.
public final class Headset {
  /// The presets by their numbers.
  public static let presetNames = ["music", "movie", "voice", "user"]

  /// The name of a preset; nil for a number without a name.
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
  let warn: (String) -> Void
  /// The board of the last connection; nil before the first one.
  var board: KnownBoard?

  private var machine = HeadsetMachine()
  private var retry: LoopTimer?
  /// The outcome of the attempt to connect that is under way, or of the last one.
  private var attempt = PendingAnswer<Void>()
  private var listeners = Listeners<(HeadsetEvent) -> Void>()

  /// - Parameters:
  ///   - firmwareKeyFile: the file of the key that firmware must be signed for; nil for the development key.
  ///   - warn: receives a line about a key that protects nothing.
  init(
    driver: any HeadsetDriver, loop: EventLoop, firmwareKeyFile: String? = nil,
    warn: @escaping (String) -> Void = { _ in }
  ) {
    (self.driver, self.loop, address) = (driver, loop, driver.name)
    (self.firmwareKeyFile, self.warn) = (firmwareKeyFile, warn)
    driver.onEvent { [weak self] in self?.receive($0) }
  }

  deinit {
    retry?.cancel()
    driver.drop()
  }

  // MARK: State

  /// `true` while requests can be made.
  public var isConnected: Bool { driver.isConnected }
  /// `true` while an update or a restart has reserved the headset.
  public var isBusy: Bool { machine.isReserved }
  /// The accessory's own name, or else its model; nil before the first connection.
  public var name: String? { board.map { $0.info.name.isEmpty ? $0.info.model : $0.info.name } }
  /// The maker's name of the model; nil before the first connection.
  public var model: String? { board?.info.model }
  /// The version of its firmware; nil before the first connection.
  public var firmwareVersion: String? { board?.info.firmwareVersion }
  /// The names of its capabilities, sorted; empty before the first connection.
  public var capabilities: [String] { board?.info.capabilities.names ?? [] }

  // MARK: The connection

  /// `true` while the headset is connected or about to be. Once it is `false` the object stays unused: the
  /// next connection creates another one.
  public var isInUse: Bool { machine.isInUse }

  /// `true` while a lost connection is made again.
  var isKept: Bool { machine.isKept }

  /// Makes one attempt to connect; then the connection is kept. Waits for the outcome of an attempt that is
  /// under way.
  /// - Throws: `alreadyConnected`, `notAvailable`, `connectionFailed`, `timeout`, `auth`, `challengeLength`.
  public func connect() async throws(HeadsetError) {
    if machine.isConnecting { try await attempt.value() }
    guard machine.mayConnect else {
      throw HeadsetError(
        .alreadyConnected, "the headset at \(address) is connected already",
        hint: "headset.list() has it; disconnect it first to connect anew")
    }
    perform(machine.connect())
    attempt = PendingAnswer()
    try await makeConnection()
  }

  /// Connects the headset as soon as it is there, and keeps it connected.
  func keepConnected() { perform(machine.keep()) }

  /// Ends the connection, and does not make it again.
  public func disconnect() async {
    let (before, after) = machine.disconnect(isConnected: driver.isConnected)
    perform(before)
    await driver.disconnect()
    emit(after)
  }

  /// Reserves the headset while `work` runs, which has to make the connection again itself.
  func exclusively<Outcome>(_ work: () async throws -> Outcome) async throws -> Outcome {
    guard !machine.isReserved else {
      throw HeadsetError(.busy, "the headset at \(address) is being updated or restarted")
    }
    perform(machine.reserve())
    defer { perform(machine.release(isConnected: driver.isConnected)) }
    return try await work()
  }

  /// Performs the attempt that has begun, and resolves it.
  private func makeConnection() async throws(HeadsetError) {
    let attempt = attempt
    do throws(HeadsetError) {
      let board = try await driver.connect()
      // The connection may have been given up, or lost, before this task's turn came.
      guard driver.isConnected, machine.awaitsBoard else {
        throw HeadsetError(.connectionFailed, "the connection to \(address) was lost at once")
      }
      begin(with: board)
    } catch {
      attempt.resolve(.failure(error))
      perform(machine.failed(error))
      throw error
    }
    attempt.resolve(.success(()))
    perform(machine.connected())
  }

  /// Notes the board that was connected, and forgets the previous one.
  func begin(with board: BoardInfo) { self.board = KnownBoard(info: board.cleaned) }

  private func perform(_ actions: [HeadsetMachine.Action]) {
    for action in actions {
      switch action {
      case .connect:
        attempt = PendingAnswer()
        loop.start { [weak self] in try? await self?.makeConnection() }
      case .wait(let delay):
        retry = loop.after(delay) { [weak self] in
          guard let self else { return }
          perform(machine.retry())
        }
      case .stopWaiting: retry?.cancel()
      case .emit(let event): emit(event)
      }
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
    case .lost(let error): perform(machine.lost(error.message))
    }
  }

  /// Emits the levels of both sides, though a board reports only one; the other is requested once.
  private func receiveAmbient(_ side: Side, _ level: Int) {
    board?.ambientLevels[side] = level
    let other: Side = side == .left ? .right : .left
    if let known = board?.ambientLevels[other] { return emitAmbient([side: level, other: known]) }
    loop.start { [weak self] in
      guard let self, let answer = try? await driver.request(GetAmbient(other)) else { return }
      board?.ambientLevels[other] = Int(answer.level)
      emitAmbient(board?.ambientLevels ?? [:])
    }
  }

  private func emitAmbient(_ levels: [Side: Int]) {
    guard let left = levels[.left], let right = levels[.right] else { return }
    emit(.ambient(left: left, right: right))
  }
}

/// The board of a connection, and the values that were learnt since it was connected.
struct KnownBoard {
  var info: BoardInfo
  /// The shape of the equalizer; nil until it is requested.
  var shape: EqualizerShape?
  /// The ambient levels that are known.
  var ambientLevels: [Side: Int] = [:]
}
