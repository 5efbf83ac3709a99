/// A board's response to a request: a status, and behind `ok` the answer.
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

  /// Creates a refusal; `ok` is none.
  package init(_ status: LinkStatus) {
    precondition(status != .ok && status != .wrongOffset, "\(status) has an initializer of its own")
    self.init(code: status.rawValue)
  }

  /// Creates the refusal of a write elsewhere than at the offset that the board has reached.
  package init(resumeAt offset: UInt32) { (code, nextOffset) = (LinkStatus.wrongOffset.rawValue, offset) }

  fileprivate init(code: UInt16) { self.code = code }

  /// Codes the fields behind the status.
  fileprivate mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    guard code == LinkStatus.wrongOffset.rawValue else { return }
    var offset = nextOffset ?? 0
    try coder.u32(&offset)
    nextOffset = offset
  }

  /// The status; nil for an unknown one.
  package var status: LinkStatus? { LinkStatus(rawValue: code) }
}
