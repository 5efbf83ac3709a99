/// Asks for the image that runs.
package typealias GetImageType = SingleRequest<0x0050, Done, ImageType>

/// Asks the board to start its bootloader.
package typealias EnterBootloader = SingleRequest<0x0051, Done, Delay>

/// The time until the bootloader is ready.
package struct Delay: LinkMessage {
  package var milliseconds: UInt32 = 0

  package init() {}
  package init(milliseconds: UInt32) { self.milliseconds = milliseconds }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u32(&milliseconds)
  }
}

/// Reports that the board starts its bootloader now.
package typealias JumpingToBootloader = SingleEvent<0x8051, Done>

/// Begins the transfer of an image, or resumes an interrupted one.
package struct BeginTransfer: LinkRequest {
  package typealias Answer = TransferPlan
  package static let operation = LinkOperation.beginTransfer

  /// The manifest of the firmware file: all of the payload.
  package var manifest: [UInt8] = []

  package init() {}
  package init(manifest: [UInt8]) { self.manifest = manifest }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.remainder(&manifest)
  }
}

/// The board's terms for the transfer of an image.
package struct TransferPlan: LinkMessage {
  /// The most writes at once that a board may grant.
  static let widestWindow: UInt8 = 8

  package var transfer: UInt32 = 0
  /// The number of bytes of the image that the board has.
  package var resumeOffset: UInt32 = 0
  /// The most bytes of a write.
  package var chunk: UInt16 = 0
  /// Bytes that are erased at once.
  package var eraseUnit: UInt32 = 0
  /// Writes that may be without an answer at once: 1 to 8.
  package var window: UInt8 = 0

  package init() {}
  package init(transfer: UInt32, resumeOffset: UInt32, chunk: UInt16, eraseUnit: UInt32, window: UInt8) {
    (self.transfer, self.resumeOffset, self.chunk, self.eraseUnit, self.window) =
      (transfer, resumeOffset, chunk, eraseUnit, window)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
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
package struct WriteTransfer: LinkRequest {
  package typealias Answer = NextOffset
  package static let operation = LinkOperation.writeTransfer
  /// The most bytes of one write.
  package static let longestData = LinkFrame.longestPayload - 8

  package var transfer: UInt32 = 0
  package var offset: UInt32 = 0
  /// The rest of the payload.
  package var data: [UInt8] = []

  package init() {}
  package init(transfer: UInt32, offset: UInt32, data: [UInt8]) {
    (self.transfer, self.offset, self.data) = (transfer, offset, data)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u32(&transfer)
    try coder.u32(&offset)
    try coder.remainder(&data)
  }
}

/// The number of bytes of the image that the board has.
package struct NextOffset: LinkMessage {
  package var offset: UInt32 = 0

  package init() {}
  package init(offset: UInt32) { self.offset = offset }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32(&offset) }
}

/// Asks for the state of the transfer.
package typealias GetTransferStatus = SingleRequest<0x0054, Done, TransferStatus>

/// The state of a transfer.
package struct TransferStatus: LinkMessage {
  package enum State: UInt8, CaseIterable, Sendable {
    case none = 0
    case erasing = 1
    case writing = 2
    case verifying = 3
    case verified = 4
    case committed = 5
    case failed = 6
  }

  package var state = State.none
  /// The number of bytes of the image that the board has.
  package var nextOffset: UInt32 = 0
  /// The CRC-32 of those bytes.
  package var prefixChecksum: UInt32 = 0

  package init() {}
  package init(state: State, nextOffset: UInt32, prefixChecksum: UInt32) {
    (self.state, self.nextOffset, self.prefixChecksum) = (state, nextOffset, prefixChecksum)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&state)
    try coder.u32(&nextOffset)
    try coder.u32(&prefixChecksum)
  }
}

/// Reports a new state of the transfer.
package typealias TransferChanged = SingleEvent<0x8054, TransferStatus>

/// Asks the board to check the whole image in its flash: hash and signature.
package typealias VerifyTransfer = SingleRequest<0x0055, UInt32, Done>

/// Makes a verified image the one that is tried at the next start.
package typealias CommitTransfer = SingleRequest<0x0056, UInt32, Done>

/// Discards a transfer.
package typealias AbortTransfer = SingleRequest<0x0057, UInt32, Done>

/// Restarts the board.
package typealias Reboot = SingleRequest<0x0058, ImageType, Done>

/// Keeps the image that is on trial.
package typealias ConfirmImage = SingleRequest<0x0059, Done, Done>
