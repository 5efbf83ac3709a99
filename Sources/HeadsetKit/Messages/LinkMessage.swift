/// The payload of a frame as values.
protocol LinkMessage: Equatable, Sendable {
  init(from payload: inout PayloadReader) throws(PayloadError)
  func write(to payload: inout PayloadWriter) throws(PayloadError)
}

extension LinkMessage {
  /// Reads a whole payload.
  /// - Throws: when it has fewer or more bytes than the message, or a value that means nothing.
  init(payload: [UInt8]) throws(PayloadError) {
    var reader = PayloadReader(payload)
    self = try Self(from: &reader)
    try reader.end()
  }

  /// The payload.
  /// - Throws: `long` when a field or all of it is.
  func payload() throws(PayloadError) -> [UInt8] {
    var writer = PayloadWriter()
    try write(to: &writer)
    guard writer.bytes.count <= LinkFrame.longestPayload else {
      throw .long(writer.bytes.count, limit: LinkFrame.longestPayload)
    }
    return writer.bytes
  }
}

/// What the host asks.
protocol LinkRequest: LinkMessage {
  /// What the board answers when it did it.
  associatedtype Answer: LinkMessage
  static var operation: LinkOperation { get }
}

extension LinkRequest {
  /// The frame that asks.
  func frame(sequence: UInt16) throws(PayloadError) -> LinkFrame {
    try LinkFrame(
      kind: .request, sequence: sequence, code: Self.operation.rawValue, payload: payload())
  }
}

/// What the board tells without being asked.
protocol LinkEvent: LinkMessage {
  static var operation: LinkOperation { get }
}

extension LinkEvent {
  /// The frame that tells.
  func frame(sequence: UInt16) throws(PayloadError) -> LinkFrame {
    try LinkFrame(kind: .event, sequence: sequence, code: Self.operation.rawValue, payload: payload())
  }
}

/// A message without fields.
protocol EmptyMessage: LinkMessage { init() }

extension EmptyMessage {
  init(from payload: inout PayloadReader) throws(PayloadError) { self.init() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) {}
}

/// The answer of a request that tells nothing but that it was done.
struct Done: EmptyMessage {}

/// What all requests and events are, so that none is forgotten.
enum LinkMessages {
  static let requests: [any LinkRequest.Type] = [
    Hello.self, Authenticate.self, Ping.self, GetInfo.self, Bye.self,
    GetNoiseCancelling.self, SetNoiseCancelling.self,
    GetAmbientLimits.self, GetAmbient.self, SetAmbient.self,
    GetEqualizerInfo.self, GetEqualizerBands.self, GetEqualizer.self, SetEqualizerBand.self,
    SelectPreset.self, SetEqualizer.self, ResetEqualizer.self,
    GetBattery.self,
    GetImageType.self, EnterBootloader.self, BeginTransfer.self, WriteTransfer.self,
    GetTransferStatus.self, VerifyTransfer.self, CommitTransfer.self, AbortTransfer.self,
    Reboot.self, ConfirmImage.self,
  ]
  static let events: [any LinkEvent.Type] = [
    AreYouThere.self, NoiseCancellingChanged.self, AmbientChanged.self, EqualizerChanged.self,
    BatteryChanged.self,
    JumpingToBootloader.self, TransferChanged.self,
  ]
}
