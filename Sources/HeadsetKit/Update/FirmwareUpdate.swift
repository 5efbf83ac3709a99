internal import EventLoop
internal import HeadsetLink

/// The update of a headset's firmware, from the file to the version that the headset reports: performs the
/// actions of an `UpdateMachine`. Confined to a loop.
///
/// The update is the only user of the driver. It can be cancelled: written parts stay written, and the next
/// update with the same file resumes after them.
final class FirmwareUpdate {
  private let report: (Double) -> Void
  private let reportEstimate: ((UpdateEstimate) -> Void)?
  private let file: FirmwareFile
  private let driver: any HeadsetDriver
  private let loop: EventLoop
  private let trusted: VerifyingKey
  private var machine: UpdateMachine
  private var time: UpdateTime
  private var timer: LoopTimer?

  /// Creates an update that has not begun.
  /// - Parameters:
  ///   - file: the firmware.
  ///   - trusted: the key that it must be signed by.
  ///   - isForced: `true` if a version that the headset has already is written again.
  ///   - timeout: the longest time without headway.
  ///   - estimate: receives the estimates, each second and with the progress.
  ///   - progress: receives the progress: 0 to 1, never less than before.
  init(
    _ file: FirmwareFile, over driver: any HeadsetDriver, trusting trusted: VerifyingKey,
    isForced: Bool = false,
    timeout: Duration = UpdateMachine.timeout, loop: EventLoop,
    estimate: ((UpdateEstimate) -> Void)? = nil, progress: @escaping (Double) -> Void = { _ in }
  ) {
    (reportEstimate, report) = (estimate, progress)
    (self.file, self.driver, self.trusted, self.loop) = (file, driver, trusted, loop)
    machine = UpdateMachine(file, name: driver.name, isForced: isForced, timeout: timeout, at: loop.now)
    time = UpdateTime(of: file.image.count)
  }

  /// Updates the headset, once.
  /// - Throws: `HeadsetError` of kind `updateFailed` with the facts `step` and `reason`; `CancellationError`.
  func run() async throws -> UpdateOutcome {
    do { try file.check(trusting: trusted) } catch {
      throw HeadsetError(update: driver.name, at: .check, error.reason, hint: error.hint)
    }
    estimateEachSecond()
    defer { timer?.cancel() }
    var action = machine.begin(isConnected: driver.isConnected)
    while true {
      try Task.checkCancellation()
      switch action {
      case .succeed(let outcome): return outcome
      case .fail(let error):
        await leaveBootloader()
        throw error
      default:
        let event = try await perform(action)
        action = machine.receive(event, at: loop.now)
        reportProgress()
      }
    }
  }

  /// Starts the application again, so that the headset can be worn after a failed update. Written parts stay,
  /// so that the next update can resume.
  private func leaveBootloader() async {
    guard driver.isConnected, machine.board?.image == .bootloader else { return }
    _ = try? await driver.request(Reboot(.application))
  }

  private func perform(_ action: UpdateMachine.Action) async throws -> UpdateMachine.Event {
    switch action {
    case .ask: return await ask(GetInfo()) { .connected($0) }
    case .connect(let delay):
      try await loop.sleep(for: delay)
      return await connect()
    case .battery: return await ask(GetBattery()) { .battery($0) }
    case .enter: return await ask(EnterBootloader()) { .entering($0) }
    case .begin(let delay):
      try await loop.sleep(for: delay)
      return await ask(BeginTransfer(manifest: file.manifest.bytes)) { .began($0) }
    case .status: return await ask(GetTransferStatus()) { .status($0) }
    case .abort(let transfer): return await ask(AbortTransfer(transfer)) { _ in .done }
    case .write(let transfer, let offset): return try await write(transfer, from: offset)
    case .verify(let transfer): return await ask(VerifyTransfer(transfer)) { _ in .done }
    case .commit(let transfer): return await ask(CommitTransfer(transfer)) { _ in .done }
    case .reboot: return await ask(Reboot(.application)) { _ in .done }
    case .confirm(let delay):
      try await loop.sleep(for: delay)
      return await ask(ConfirmImage()) { _ in .done }
    case .succeed, .fail: preconditionFailure("an end is not performed")
    }
  }

  private func connect() async -> UpdateMachine.Event {
    do throws(HeadsetError) { return .connected(try await driver.connect()) } catch { return .lost(error) }
  }

  private func ask<Request: LinkRequest>(
    _ request: Request, _ event: (Request.Answer) -> UpdateMachine.Event
  ) async -> UpdateMachine.Event {
    let start = loop.now
    do throws(HeadsetError) {
      let reply = try await driver.begin(request).value()
      measure(Request.operation, isAnswered: true, since: start)
      switch reply {
      case .done(let answer): return event(answer)
      case .refused(let refusal): return .refused(refusal)
      }
    } catch {
      measure(Request.operation, isAnswered: false, since: start)
      return .lost(error)
    }
  }

  /// Measures the time of an answer to a request that needs no other work on the board.
  private func measure(_ operation: LinkOperation, isAnswered: Bool, since start: Instant) {
    switch operation {
    case .beginTransfer, .verifyTransfer, .commitTransfer: break
    default: time.asked(isAnswered: isAnswered, in: start.duration(to: loop.now))
    }
  }

  // MARK: Writing

  /// Writes the image from `offset` on, in as many parts at once as the board grants. A cancellation ends the
  /// writing between two parts.
  private func write(_ transfer: TransferPlan, from offset: Int) async throws -> UpdateMachine.Event {
    var window = WriteWindow(
      size: file.image.count, start: offset, chunk: machine.chunk(of: transfer),
      width: machine.width(of: transfer))
    time.write(from: offset, chunk: machine.chunk(of: transfer), at: loop.now)
    estimate()
    var pending: [(part: Range<Int>, answer: PendingAnswer<LinkReply<NextOffset>>)] = []
    var failure: UpdateMachine.Event?
    while true {
      let action: WriteWindow.Action =
        failure != nil || Task.isCancelled ? (pending.isEmpty ? .done : .wait) : window.act()
      switch action {
      case .send(let part):
        let request = WriteTransfer(
          transfer: transfer.transfer, offset: UInt32(part.lowerBound), data: Array(file.image[part]))
        pending.append((part, driver.begin(request)))
      case .wait:
        let (part, answer) = pending.removeFirst()
        switch await result(of: answer) {
        case .success(.done(let next)):
          window.answered(part, next: Int(next.offset))
          machine.acknowledged(window.acknowledged, at: loop.now)
          time.acknowledged(window.acknowledged, at: loop.now)
          reportProgress()
          if machine.isStalled(loop.now) {
            failure = failure ?? .stuck("the headset acknowledges less than is written to it")
          }
        case .success(.refused(let refusal)):
          if let offset = refusal.nextOffset {
            window.refused(resumeAt: Int(offset))
          } else {
            failure = failure ?? .refused(refusal)
          }
        case .failure(let error): failure = failure ?? .lost(error)
        }
      case .done:
        try Task.checkCancellation()
        return failure ?? .done
      case .stuck(let reason): return .stuck(reason)
      }
    }
  }

  private func result<Answer>(of answer: PendingAnswer<Answer>) async -> Result<Answer, HeadsetError> {
    do throws(HeadsetError) { return .success(try await answer.value()) } catch { return .failure(error) }
  }

  private func reportProgress() {
    guard let fraction = machine.drainProgress() else { return }
    estimate()
    report(fraction)
  }

  private func estimate() {
    reportEstimate?(UpdateEstimate(fraction: machine.progress.reached, left: time.left(at: loop.now)))
  }

  /// Reports an estimate each second, even while no byte is acknowledged.
  private func estimateEachSecond() {
    guard reportEstimate != nil else { return }
    timer = loop.after(.seconds(1), keepsAlive: false) { [weak self] in
      self?.estimate()
      self?.estimateEachSecond()
    }
  }
}
