import EventLoop

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// A board without wire or flash, behind the seam of drivers: a few variables that answer requests as the specification
/// says, with whatever a test has go wrong. Confined to its loop.
final class PaperBoard: HeadsetDriver {
  /// A fault of a request.
  enum Mishap {
    /// The request never arrives, and the link is lost.
    case lost
    /// The request is done, and the link is lost with the answer.
    case lostAnswer
    /// The board refuses.
    case refused(LinkRefusal)
    /// The request is not done, and answered with this.
    case answered(any LinkMessage)
    /// The request is not done, and fails with this at the host.
    case failed(HeadsetError)
    /// The request is done, and then the power fails: the board restarts.
    case powerLoss
  }

  let name = "paper:board"
  private var listeners = Listeners<(DriverEvent) -> Void>()
  private(set) var isConnected = false

  /// The description, as HELLO has it.
  var info = BoardInfo(
    image: .application, capabilities: [.battery, .firmwareUpdate], longestPayload: 1_024, model: "RT-1",
    firmwareVersion: "1.0", boots: 1)
  var battery = Battery(percent: 80, isCharging: false)
  /// The number of requests to start the bootloader that it ignores.
  var stays = 0
  var readyAfter = Duration.seconds(5)
  var (window, chunk): (UInt8, UInt16) = (4, 256)
  /// The fault of a request, by the number of requests before.
  var mishap: (LinkOperation, Int) -> Mishap? = { _, _ in nil }
  /// The error of a connection attempt, by the number of attempts before.
  var connectFailure: (Int) -> HeadsetError? = { _ in nil }

  /// All that was asked, in order.
  private(set) var asked: [LinkOperation] = []
  private(set) var connects = 0
  /// The breaches of the order of requests: BEGIN too early, more writes than granted.
  private(set) var breaches: [String] = []
  /// The contents of the flash, and their manifest.
  var flash: [UInt8] = []
  var manifest: FirmwareManifest?
  private(set) var isConfirmed = true

  private let loop: EventLoop
  private var readyAt: Instant?
  private var state = TransferStatus.State.none
  private var helloImage: ImageType?
  private var writes = 0
  private var generation = 0
  private let latency = Duration.milliseconds(2)

  init(_ loop: EventLoop) { self.loop = loop }

  func connect() async throws(HeadsetError) -> BoardInfo {
    drop()
    connects += 1
    do { try await loop.sleep(for: latency) } catch {
      throw HeadsetError(.connectionFailed, "given up")
    }
    if let failure = connectFailure(connects - 1) { throw failure }
    (isConnected, helloImage) = (true, info.image)
    return info
  }

  func disconnect() async { drop() }

  func drop() {
    isConnected = false
    generation += 1
    writes = 0
  }

  func begin<Request: LinkRequest>(_ request: Request) -> PendingAnswer<LinkReply<Request.Answer>> {
    let operation = Request.operation
    guard isConnected else { return PendingAnswer(.failure(notConnected)) }
    let number = asked.count
    asked.append(operation)
    notice(operation)
    let (answer, generation) = (PendingAnswer<LinkReply<Request.Answer>>(), generation)
    loop.after(latency) { [self] in
      if operation == .writeTransfer { writes -= 1 }
      guard generation == self.generation else { return answer.resolve(.failure(notConnected)) }
      let mishap = mishap(operation, number)
      if case .lost = mishap {
        lose()
        return answer.resolve(.failure(notConnected))
      }
      if case .failed(let error) = mishap { return answer.resolve(.failure(error)) }
      if case .answered(let message) = mishap, let message = message as? Request.Answer {
        return answer.resolve(.success(.done(message)))
      }
      if case .refused(let refusal) = mishap {
        return answer.resolve(.success(.refused(refusal)))
      }
      let result: Result<LinkReply<Request.Answer>, HeadsetError>
      do throws(LinkRefusal) {
        let value = try perform(request) as? Request.Answer
        result = value.map { .success(.done($0)) } ?? .failure(HeadsetError(.noData, "no answer"))
      } catch { result = .success(.refused(error)) }
      if mishap == nil { return answer.resolve(result) }
      if case .powerLoss = mishap { start(.application) }
      lose()
      answer.resolve(.failure(notConnected))
    }
    return answer
  }

  private var notConnected: HeadsetError { HeadsetError(.notConnected, "the link to \(name) ended") }

  private func lose() {
    guard isConnected else { return }
    drop()
    for listener in listeners.all { listener(.lost(notConnected)) }
  }

  func onEvent(_ listener: @escaping (DriverEvent) -> Void) { _ = listeners.add(listener) }

  private func notice(_ operation: LinkOperation) {
    if operation == .beginTransfer {
      if helloImage != .bootloader { breaches.append("BEGIN before HELLO reports the bootloader") }
      if readyAt.map({ loop.now < $0 }) ?? true { breaches.append("BEGIN before the time") }
    }
    if operation == .writeTransfer { writes += 1 }
    if operation != .writeTransfer, writes > 0 { breaches.append("\(operation) among writes") }
    if writes > Int(window) { breaches.append("more writes than granted") }
  }

  /// Starts it anew.
  func start(_ image: ImageType) {
    info.image = image
    info.boots += 1
    readyAt = image == .bootloader ? loop.now.advanced(by: readyAfter) : nil
    // The unit that was being written is lost.
    if flash.count != manifest?.imageSize { flash = Array(flash.prefix(flash.count / 4_096 * 4_096)) }
    if state == .committed, image == .application, let manifest {
      info.firmwareVersion = manifest.version.description
      (isConfirmed, state) = (false, .none)
    } else if state != .committed {
      state = .none
    }
  }

  /// The wearer's: into the bootloader, ready.
  func startReadyBootloader() {
    start(.bootloader)
    readyAt = loop.now
  }

  // MARK: Requests

  private func perform(_ request: any LinkRequest) throws(LinkRefusal) -> any LinkMessage {
    switch request {
    case is GetInfo: return info
    case is GetBattery: return battery
    case is EnterBootloader: return enter()
    case let request as BeginTransfer: return try begin(request)
    case let request as WriteTransfer: return try write(request)
    case is GetTransferStatus:
      return TransferStatus(
        state: state, nextOffset: UInt32(flash.count), prefixChecksum: CRC32.of(flash[...]))
    case is VerifyTransfer: return try verify()
    case is CommitTransfer:
      guard state == .verified || state == .committed else { throw LinkRefusal(.noTransfer) }
      state = .committed
      return Done()
    case is AbortTransfer:
      (flash, state) = ([], .none)
      return Done()
    case let request as Reboot:
      start(request.value)
      return Done()
    case is ConfirmImage:
      guard info.image == .application else { throw LinkRefusal(.wrongMode) }
      isConfirmed = true
      return Done()
    default: throw LinkRefusal(.unsupported)
    }
  }

  private func enter() -> Delay {
    let time = readyAt.map { max(.zero, loop.now.duration(to: $0)) } ?? readyAfter
    if info.image == .application {
      if stays > 0 {
        stays -= 1
      } else {
        loop.next { [self] in
          start(.bootloader)
          lose()
        }
      }
    }
    return Delay(milliseconds: UInt32((time.nanoseconds + 999_999) / 1_000_000))
  }

  private func begin(_ request: BeginTransfer) throws(LinkRefusal) -> TransferPlan {
    guard info.image == .bootloader else { throw LinkRefusal(.wrongMode) }
    guard let new = try? FirmwareManifest(parsing: request.manifest) else { throw LinkRefusal(.badRequest) }
    if new != manifest { (flash, manifest) = ([], new) }
    if state != .committed { state = .writing }
    return TransferPlan(
      transfer: 7, resumeOffset: UInt32(flash.count), chunk: chunk, eraseUnit: 4_096, window: window)
  }

  private func write(_ request: WriteTransfer) throws(LinkRefusal) -> NextOffset {
    guard state == .writing else { throw LinkRefusal(.noTransfer) }
    let start = Int(request.offset)
    guard start <= flash.count else { throw LinkRefusal(resumeAt: UInt32(flash.count)) }
    flash += request.data.dropFirst(flash.count - start)
    return NextOffset(offset: UInt32(flash.count))
  }

  private func verify() throws(LinkRefusal) -> Done {
    guard state == .writing || state == .verified, let manifest else { throw LinkRefusal(.noTransfer) }
    guard flash.count == manifest.imageSize else { throw LinkRefusal(resumeAt: UInt32(flash.count)) }
    guard SHA256.hash(flash) == manifest.imageHash else {
      (flash, state) = ([], .none)
      throw LinkRefusal(.wrongHash)
    }
    state = .verified
    return Done()
  }
}
