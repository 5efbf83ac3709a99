/// The payload of a frame as values.
package protocol LinkMessage: Equatable, Sendable {
  /// Creates a message with placeholder values, for `code` to set.
  init()
  /// Codes the fields in their order: a `PayloadReader` sets them, a `PayloadWriter` leaves them and appends their
  /// bytes.
  /// - Throws: `value` for a value without a meaning, in either direction; the coder's errors.
  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError)
}

extension LinkMessage {
  /// Reads a message from the start of a payload.
  package init(from reader: inout PayloadReader) throws(PayloadError) {
    self.init()
    try code(&reader)
  }

  /// Reads a whole payload.
  /// - Throws: `leftover` if bytes follow the message; the errors of `code`.
  package init(payload: [UInt8]) throws(PayloadError) {
    var reader = PayloadReader(payload)
    try self.init(from: &reader)
    try reader.end()
  }

  /// Appends the message to a payload.
  package func write(to writer: inout PayloadWriter) throws(PayloadError) {
    var message = self
    try message.code(&writer)
  }

  /// The payload.
  /// - Throws: `long` if a field or the payload is too long; `value` for a value without a meaning.
  package func payload() throws(PayloadError) -> [UInt8] {
    var writer = PayloadWriter()
    try write(to: &writer)
    guard writer.bytes.count <= LinkFrame.longestPayload else {
      throw .long(writer.bytes.count, limit: LinkFrame.longestPayload)
    }
    return writer.bytes
  }
}

/// A request of the host.
package protocol LinkRequest: LinkMessage {
  /// The board's answer to a request that it has done.
  associatedtype Answer: LinkMessage
  static var operation: LinkOperation { get }
}

extension LinkRequest {
  /// The frame of the request.
  package func frame(sequence: UInt16) throws(PayloadError) -> LinkFrame {
    try LinkFrame(
      kind: .request, sequence: sequence, code: Self.operation.rawValue, payload: payload())
  }
}

/// A report of the board that no request precedes.
package protocol LinkEvent: LinkMessage {
  static var operation: LinkOperation { get }
}

extension LinkEvent {
  /// The frame of the event.
  package func frame(sequence: UInt16) throws(PayloadError) -> LinkFrame {
    try LinkFrame(kind: .event, sequence: sequence, code: Self.operation.rawValue, payload: payload())
  }
}

/// A request with one field, or with none: `Done`.
package struct SingleRequest<let code: Int, Field: LinkMessage, Answer: LinkMessage>: LinkRequest {
  package static var operation: LinkOperation { LinkOperation(messageCode: code) }

  package var value = Field()

  package init() {}
  package init(_ value: Field) { self.value = value }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try value.code(&coder)
  }
}

/// An event with one field, or with none: `Done`.
package struct SingleEvent<let code: Int, Field: LinkMessage>: LinkEvent {
  package static var operation: LinkOperation { LinkOperation(messageCode: code) }

  package var value = Field()

  package init() {}
  package init(_ value: Field) { self.value = value }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try value.code(&coder)
  }
}

extension LinkOperation {
  /// Creates the operation of a type of message, by its code on the wire.
  fileprivate init(messageCode: Int) {
    guard let operation = LinkOperation(rawValue: UInt16(messageCode)) else {
      preconditionFailure("a message has the code \(messageCode), which is no operation")
    }
    self = operation
  }
}

/// No field: as an answer, that the request was done.
package struct Done: LinkMessage {
  package init() {}
  package mutating func code(_ coder: inout some PayloadCoder) {}
}

extension Bool: LinkMessage {
  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.bool(&self) }
}

extension UInt8: LinkMessage {
  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u8(&self) }
}

extension UInt32: LinkMessage {
  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.u32(&self) }
}

extension ImageType: LinkMessage {
  package init() { self = .application }
  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&self)
  }
}

extension Side: LinkMessage {
  package init() { self = .left }
  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&self)
  }
}

/// The list of all requests and events.
package enum LinkMessages {
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

/// A board's response to a request: a status, and after `ok` the answer.
package enum LinkReply<Answer: LinkMessage>: LinkMessage {
  case done(Answer)
  case refused(LinkRefusal)

  package init() { self = .done(Answer()) }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    var status =
      switch self {
      case .done: LinkStatus.ok.rawValue
      case .refused(let refusal): refusal.code
      }
    try coder.u16(&status)
    if status == LinkStatus.ok.rawValue {
      var answer = if case .done(let answer) = self { answer } else { Answer() }
      try answer.code(&coder)
      self = .done(answer)
    } else {
      var refusal = if case .refused(let refusal) = self { refusal } else { LinkRefusal(code: status) }
      try refusal.code(&coder)
      self = .refused(refusal)
    }
  }

  /// The frame that answers `request`.
  package func frame(to request: LinkFrame) throws(PayloadError) -> LinkFrame {
    try LinkFrame(
      kind: .response, sequence: request.sequence, code: request.code, payload: payload())
  }
}

/// A board's refusal of a request.
package struct LinkRefusal: Error, Equatable {
  /// The status as it was received; newer boards may have unknown ones.
  package let code: UInt16
  /// The offset at which to resume writing; with `wrongOffset` alone.
  package private(set) var nextOffset: UInt32?

  /// Creates a refusal; `ok` is not allowed.
  package init(_ status: LinkStatus) {
    precondition(status != .ok && status != .wrongOffset, "\(status) has an initializer of its own")
    self.init(code: status.rawValue)
  }

  /// Creates the refusal of a write elsewhere than at the offset that the board has reached.
  package init(resumeAt offset: UInt32) { (code, nextOffset) = (LinkStatus.wrongOffset.rawValue, offset) }

  fileprivate init(code: UInt16) { self.code = code }

  /// Codes the fields after the status.
  fileprivate mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    guard code == LinkStatus.wrongOffset.rawValue else { return }
    var offset = nextOffset ?? 0
    try coder.u32(&offset)
    nextOffset = offset
  }

  /// The status; nil for an unknown one.
  package var status: LinkStatus? { LinkStatus(rawValue: code) }
}
