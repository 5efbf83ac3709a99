/// Asks what runs on the board.
struct GetImageType: LinkRequest, EmptyMessage {
  typealias Answer = RunningImage
  static let operation = LinkOperation.imageType
}

/// What runs on the board.
struct RunningImage: LinkMessage {
  var image: ImageType
}

extension RunningImage {
  init(from payload: inout PayloadReader) throws(PayloadError) { image = try payload.choice() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.choice(image) }
}

/// Asks the board to go over to its bootloader.
struct EnterBootloader: LinkRequest, EmptyMessage {
  typealias Answer = Delay
  static let operation = LinkOperation.enterBootloader
}

/// How long the board takes.
struct Delay: LinkMessage {
  var milliseconds: UInt32
}

extension Delay {
  init(from payload: inout PayloadReader) throws(PayloadError) { milliseconds = try payload.u32() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.u32(milliseconds) }
}

/// The board goes over to its bootloader now.
struct JumpingToBootloader: LinkEvent, EmptyMessage {
  static let operation = LinkOperation.jumpingToBootloader
}

/// Begins the transfer of an image, or goes on with one that was broken off.
struct BeginTransfer: LinkRequest {
  typealias Answer = TransferPlan
  static let operation = LinkOperation.beginTransfer

  /// The manifest as it stands in the firmware file: all of the payload.
  var manifest: [UInt8]
}

extension BeginTransfer {
  init(from payload: inout PayloadReader) throws(PayloadError) { manifest = payload.remaining() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.raw(manifest) }
}

/// How the board wants an image.
struct TransferPlan: LinkMessage {
  var transfer: UInt32
  /// Bytes of the image that the board has.
  var resumeOffset: UInt32
  /// The most bytes of a write.
  var chunk: UInt16
  /// Bytes that are erased at once.
  var eraseUnit: UInt32
  /// Writes that may be without an answer at once: 1 to 8.
  var window: UInt8

  /// The most writes at once that a board may grant.
  static let widestWindow: UInt8 = 8
}

extension TransferPlan {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    (transfer, resumeOffset) = try (payload.u32(), payload.u32())
    chunk = try payload.u16()
    eraseUnit = try payload.u32()
    window = try payload.u8()
    try check()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    try check()
    payload.u32(transfer)
    payload.u32(resumeOffset)
    payload.u16(chunk)
    payload.u32(eraseUnit)
    payload.u8(window)
  }

  /// Refuses a plan by which no image would ever arrive.
  private func check() throws(PayloadError) {
    guard (1...WriteTransfer.longestData).contains(Int(chunk)) else { throw .value(Int(chunk)) }
    guard eraseUnit > 0 else { throw .value(0) }
    guard (1...Self.widestWindow).contains(window) else { throw .value(Int(window)) }
  }
}

/// Writes a part of the image.
struct WriteTransfer: LinkRequest {
  typealias Answer = NextOffset
  static let operation = LinkOperation.writeTransfer
  /// The most bytes of one write.
  static let longestData = LinkFrame.longestPayload - 8

  var transfer: UInt32
  var offset: UInt32
  /// The rest of the payload.
  var data: [UInt8]
}

extension WriteTransfer {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    (transfer, offset) = try (payload.u32(), payload.u32())
    data = payload.remaining()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.u32(transfer)
    payload.u32(offset)
    payload.raw(data)
  }
}

/// Bytes of the image that the board has.
struct NextOffset: LinkMessage {
  var offset: UInt32
}

extension NextOffset {
  init(from payload: inout PayloadReader) throws(PayloadError) { offset = try payload.u32() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.u32(offset) }
}

/// Asks how far the transfer is.
struct GetTransferStatus: LinkRequest, EmptyMessage {
  typealias Answer = TransferStatus
  static let operation = LinkOperation.transferStatus
}

/// How far the transfer is.
struct TransferStatus: LinkMessage {
  enum State: UInt8, CaseIterable, Sendable {
    case none = 0
    case erasing = 1
    case writing = 2
    case verifying = 3
    case verified = 4
    case committed = 5
    case failed = 6
  }

  var state: State
  /// Bytes of the image that the board has.
  var nextOffset: UInt32
  /// The CRC-32 of those bytes.
  var prefixChecksum: UInt32
}

extension TransferStatus {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    state = try payload.choice()
    (nextOffset, prefixChecksum) = try (payload.u32(), payload.u32())
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.choice(state)
    payload.u32(nextOffset)
    payload.u32(prefixChecksum)
  }
}

/// The transfer went on.
struct TransferChanged: LinkEvent {
  static let operation = LinkOperation.transferChanged

  var status: TransferStatus
}

extension TransferChanged {
  init(from payload: inout PayloadReader) throws(PayloadError) { status = try TransferStatus(from: &payload) }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { try status.write(to: &payload) }
}

/// A request that names a transfer and nothing else.
protocol TransferRequest: LinkRequest where Answer == Done {
  var transfer: UInt32 { get }
  init(transfer: UInt32)
}

extension TransferRequest {
  init(from payload: inout PayloadReader) throws(PayloadError) { self.init(transfer: try payload.u32()) }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.u32(transfer) }
}

/// Asks the board to look at the whole image in its flash: hash and signature.
struct VerifyTransfer: TransferRequest {
  static let operation = LinkOperation.verifyTransfer
  var transfer: UInt32
}

/// Makes a verified image the one that is tried at the next start.
struct CommitTransfer: TransferRequest {
  static let operation = LinkOperation.commitTransfer
  var transfer: UInt32
}

/// Gives a transfer up.
struct AbortTransfer: TransferRequest {
  static let operation = LinkOperation.abortTransfer
  var transfer: UInt32
}

/// Starts the board anew.
struct Reboot: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.reboot

  var target: ImageType
}

extension Reboot {
  init(from payload: inout PayloadReader) throws(PayloadError) { target = try payload.choice() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.choice(target) }
}

/// Keeps the image that is on trial.
struct ConfirmImage: LinkRequest, EmptyMessage {
  typealias Answer = Done
  static let operation = LinkOperation.confirmImage
}
