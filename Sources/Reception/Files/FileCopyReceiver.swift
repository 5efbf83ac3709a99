internal import Codecs
internal import EventLoop
internal import HTTP
internal import StreamCore

/// Receives one file for a recording, byte for byte, or its frames for a recording that ends after a certain
/// length: adopts the connection that found it, and requests the rest after a loss. If the server sends no
/// parts it receives the file from its start, and skips the bytes received before.
///
/// Unchecked: confined to the loop of its network thread; `init` passes in all its parts.
final class FileCopyReceiver: AdoptingReceiver, ConnectionOwner, @unchecked Sendable {
  private enum Phase {
    /// Too few bytes have come to recognise the file.
    case starting([UInt8])
    /// The Ogg headers are searched for meanwhile.
    case copying(CopiedKind, OggStart?)
    case framing(FileFrames)
  }

  let driver: ConnectionDriver
  let outlet: SoundOutlet
  private let address: StreamAddress
  private var options: ReceiverOptions
  private let network: NetworkThread
  private var identity: FileIdentity
  private let head: HTTPResponse
  private var phase = Phase.starting([])
  /// The next byte of the transfer, and the next byte to record.
  private var position = 0
  private var wanted = 0
  private var waitsForDisk = false
  private var restarts = FileRestarts()

  /// - Parameters:
  ///   - head: the head of the answer with the file.
  init(
    at address: StreamAddress, head: HTTPResponse, options: ReceiverOptions,
    network: NetworkThread, outlet: SoundOutlet
  ) {
    (self.address, self.head, self.options) = (address, head, options)
    (self.network, self.outlet) = (network, outlet)
    identity = FileIdentity(head)
    driver = ConnectionDriver(fileAt: address, options, loop: network.loop, report: outlet.report)
    driver.owner = self
  }

  func adopt(_ transfer: HTTPTransfer?) {
    driver.adopt(transfer, for: self)
    // The transfer is open already.
    _ = driver.machine.start(at: driver.now)
    driver.machine.answered(at: driver.now)
    driver.arm()
  }

  func change(_ options: ReceiverOptions) {
    self.options = options
    driver.setDataTimeout(options.dataTimeout)
  }

  func end() { driver.end() }

  func diskHasRoom() {
    guard waitsForDisk, !isStopped else { return }
    waitsForDisk = false
    driver.readAgain()
  }

  private var isStopped: Bool { driver.isStopped }
  private var tee: FrameTee { outlet.tee }
  private var shownURL: String { driver.shownURL }

  // MARK: Connections

  func connect(to address: StreamAddress) {
    if restarts.isInVain() { return driver.fail(.incomplete(shownURL, beyond: wanted)) }
    driver.report(.connecting)
    (position, waitsForDisk) = (0, false)
    driver.open(address) { () throws(HTTPError) in
      network.start(try identity.request(address, from: wanted, options), on: self)
    }
  }

  func wakeTime(_ deadline: Instant?) -> Instant? {
    // No byte is missing while reading is paused.
    waitsForDisk ? nil : deadline
  }

  private func fail(_ error: StreamError) -> HTTPFlow {
    driver.fail(error)
    return .stop
  }

  // MARK: A transfer

  func receiveHead(_ head: HTTPResponse) -> HTTPFlow {
    guard !isStopped else { return .stop }
    if head.status == 416 { return receiveNoRange(head) }
    guard head.status < 400 else { return driver.refused(head) }
    guard let first = identity.admit(head, from: wanted) else {
      return fail(.changed(shownURL, while: "recorded"))
    }
    position = first
    restarts.answered(from: first, wanted: wanted)
    driver.machine.answered(at: driver.now)
    driver.arm()
    return .more
  }

  /// Receives the answer that the requested bytes do not exist: the file ends before them, or has become
  /// shorter.
  private func receiveNoRange(_ head: HTTPResponse) -> HTTPFlow {
    driver.transfer = nil
    let size = head.headers["Content-Range"].flatMap { ContentRange($0)?.size } ?? identity.size
    guard size == wanted else { return fail(.changed(shownURL, while: "recorded")) }
    finish()
    return .stop
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
    guard !isStopped else { return .stop }
    let skipped = min(bytes.count, max(0, wanted - position))
    let start = position + skipped
    position += bytes.count
    if skipped < bytes.count {
      wanted = position
      restarts.advanced()
      receive(UnsafeRawBufferPointer(rebasing: bytes[skipped...]), at: start)
    }
    if isStopped { return .stop }
    // Repeated bytes are no progress.
    let isNew = skipped < bytes.count
    driver.perform(driver.machine.received(isNew ? .nanoseconds(1) : .zero, isNew: isNew, at: driver.now))
    guard !isStopped else { return .stop }
    guard tee.isDiskBehind else { return .more }
    waitsForDisk = true
    driver.arm()
    return .pause
  }

  func receiveEnd(_ failure: HTTPError?) {
    guard !isStopped else { return }
    driver.transfer = nil
    // Without a known size, an answer that ends in order ends the file.
    if identity.size.map({ wanted >= $0 }) ?? (failure == nil && position >= wanted) { return finish() }
    let error = failure.map { StreamError($0, at: driver.address) } ?? .ended(shownURL)
    driver.perform(driver.machine.ended(error, at: driver.now))
  }

  // MARK: Bytes

  private func receive(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    switch phase {
    case .copying(let kind, var ogg):
      let damage = ogg?.receive(bytes)
      phase = .copying(kind, ogg)
      tee.receive { $0.append(bytes, at: offset, of: kind.format) }
      if let damage { discard(damage) }
    case .framing(var frames):
      let found = frames.receive(bytes, into: tee)
      phase = .framing(frames)
      if let found { _ = fail(.noAudio(found, from: shownURL)) }
    case .starting(let start):
      phase = .starting(start + bytes)
      begin(isWhole: false)
    }
  }

  /// Begins to record if the start of the file is recognised.
  private func begin(isWhole: Bool) {
    guard case .starting(let start) = phase, isWhole || start.count >= ContentSniffer.magicLength else {
      return
    }
    if let found = CopiedKind.refused(start) {
      _ = fail(.noAudio(found, from: shownURL))
      return
    }
    let type = head.headers["Content-Type"]
    guard let kind = CopiedKind(start, contentType: type, path: address.path, isWhole: isWhole) else {
      if isWhole || start.count >= CopiedKind.longestStart {
        _ = fail(.noAudio(ContentSniffer.describe(start[...]), from: shownURL))
      }
      return
    }
    let endsWithin = tee.endsWithin
    guard !endsWithin || kind.format.codec.hasFrames else {
      _ = fail(.recordedWhole(kind.format.codec, shownURL))
      return
    }
    driver.report(.answered(StationInfo(head)))
    driver.report(.copying)
    tee.beginFile(end: endsWithin ? nil : kind.fileEnd)
    phase =
      endsWithin
      ? .framing(FileFrames(kind, contentType: type))
      : .copying(kind, kind.format.codec == .ogg ? OggStart() : nil)
    start.withUnsafeBytes { receive($0, at: 0) }
  }

  /// Ends the reception of a file that turned out not to be sound.
  private func discard(_ found: String) {
    tee.discardFile()
    _ = fail(.noAudio(found, from: shownURL))
  }

  /// Receives the last frames of a file, and the end of its headers.
  private func endFile() {
    switch phase {
    case .starting: break
    case .copying(let kind, var ogg):
      let damage = ogg?.end()
      phase = .copying(kind, ogg)
      if let damage { discard(damage) }
    case .framing(var frames):
      let found = frames.end(into: tee)
      phase = .framing(frames)
      if let found { _ = fail(.noAudio(found, from: shownURL)) }
    }
  }

  /// Completes the recording: all bytes of the file have come.
  private func finish() {
    begin(isWhole: true)
    if !isStopped { endFile() }
    guard !isStopped else { return }
    driver.reportJoin()
    driver.report(.complete)
    end()
  }
}
