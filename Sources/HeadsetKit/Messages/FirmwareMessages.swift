/// Asks for the image that runs.
struct GetImageType: LinkRequest, EmptyMessage {
  typealias Answer = RunningImage
  static let operation = LinkOperation.imageType

  init() {}
}

/// The image that runs.
struct RunningImage: LinkMessage {
  var image = ImageType.application

  init() {}
  init(image: ImageType) { self.image = image }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.choice(&image) }
}

/// Asks the board to start its bootloader.
struct EnterBootloader: LinkRequest, EmptyMessage {
  typealias Answer = Delay
  static let operation = LinkOperation.enterBootloader

  init() {}
}

/// The time until the bootloader is ready.
struct Delay: LinkMessage {
  var milliseconds: UInt32 = 0

  init() {}
  init(milliseconds: UInt32) { self.milliseconds = milliseconds }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32(&milliseconds) }
}

/// Reports that the board starts its bootloader now.
struct JumpingToBootloader: LinkEvent, EmptyMessage {
  static let operation = LinkOperation.jumpingToBootloader

  init() {}
}

/// Begins the transfer of an image, or resumes an interrupted one.
struct BeginTransfer: LinkRequest {
  typealias Answer = TransferPlan
  static let operation = LinkOperation.beginTransfer

  /// The manifest of the firmware file: all of the payload.
  var manifest: [UInt8] = []

  init() {}
  init(manifest: [UInt8]) { self.manifest = manifest }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.remainder(&manifest) }
}

/// The board's terms for the transfer of an image.
struct TransferPlan: LinkMessage {
  /// The most writes at once that a board may grant.
  static let widestWindow: UInt8 = 8

  var transfer: UInt32 = 0
  /// Bytes of the image that the board has.
  var resumeOffset: UInt32 = 0
  /// The most bytes of a write.
  var chunk: UInt16 = 0
  /// Bytes that are erased at once.
  var eraseUnit: UInt32 = 0
  /// Writes that may be without an answer at once: 1 to 8.
  var window: UInt8 = 0

  init() {}
  init(transfer: UInt32, resumeOffset: UInt32, chunk: UInt16, eraseUnit: UInt32, window: UInt8) {
    (self.transfer, self.resumeOffset, self.chunk, self.eraseUnit, self.window) =
      (transfer, resumeOffset, chunk, eraseUnit, window)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u32(&transfer)
    try coder.u32(&resumeOffset)
    try coder.u16(&chunk)
    try coder.u32(&eraseUnit)
    try coder.u8(&window)
    // No image would ever arrive by another plan.
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

  var transfer: UInt32 = 0
  var offset: UInt32 = 0
  /// The rest of the payload.
  var data: [UInt8] = []

  init() {}
  init(transfer: UInt32, offset: UInt32, data: [UInt8]) {
    (self.transfer, self.offset, self.data) = (transfer, offset, data)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u32(&transfer)
    try coder.u32(&offset)
    try coder.remainder(&data)
  }
}

/// Bytes of the image that the board has.
struct NextOffset: LinkMessage {
  var offset: UInt32 = 0

  init() {}
  init(offset: UInt32) { self.offset = offset }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32(&offset) }
}

/// Asks for the state of the transfer.
struct GetTransferStatus: LinkRequest, EmptyMessage {
  typealias Answer = TransferStatus
  static let operation = LinkOperation.transferStatus

  init() {}
}

/// The state of a transfer.
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

  var state = State.none
  /// Bytes of the image that the board has.
  var nextOffset: UInt32 = 0
  /// The CRC-32 of those bytes.
  var prefixChecksum: UInt32 = 0

  init() {}
  init(state: State, nextOffset: UInt32, prefixChecksum: UInt32) {
    (self.state, self.nextOffset, self.prefixChecksum) = (state, nextOffset, prefixChecksum)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&state)
    try coder.u32(&nextOffset)
    try coder.u32(&prefixChecksum)
  }
}

/// Reports a new state of the transfer.
struct TransferChanged: LinkEvent {
  static let operation = LinkOperation.transferChanged

  var status = TransferStatus()

  init() {}
  init(status: TransferStatus) { self.status = status }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try status.code(&coder) }
}

/// Asks the board to check the whole image in its flash: hash and signature.
struct VerifyTransfer: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.verifyTransfer

  var transfer: UInt32 = 0

  init() {}
  init(transfer: UInt32) { self.transfer = transfer }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32(&transfer) }
}

/// Makes a verified image the one that is tried at the next start.
struct CommitTransfer: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.commitTransfer

  var transfer: UInt32 = 0

  init() {}
  init(transfer: UInt32) { self.transfer = transfer }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32(&transfer) }
}

/// Gives a transfer up.
struct AbortTransfer: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.abortTransfer

  var transfer: UInt32 = 0

  init() {}
  init(transfer: UInt32) { self.transfer = transfer }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32(&transfer) }
}

/// Restarts the board.
struct Reboot: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.reboot

  var target = ImageType.application

  init() {}
  init(target: ImageType) { self.target = target }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.choice(&target) }
}

/// Keeps the image that is on trial.
struct ConfirmImage: LinkRequest, EmptyMessage {
  typealias Answer = Done
  static let operation = LinkOperation.confirmImage

  init() {}
}
