/// A board's answer to a request: a status, and behind `ok` what was asked for.
enum LinkReply<Answer: LinkMessage>: LinkMessage {
  case done(Answer)
  case refused(LinkRefusal)

  init(from payload: inout PayloadReader) throws(PayloadError) {
    let status = try payload.u16()
    if status == LinkStatus.ok.rawValue {
      self = .done(try Answer(from: &payload))
    } else {
      self = .refused(try LinkRefusal(code: status, from: &payload))
    }
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    switch self {
    case .done(let answer):
      payload.u16(LinkStatus.ok.rawValue)
      try answer.write(to: &payload)
    case .refused(let refusal):
      payload.u16(refusal.code)
      if let offset = refusal.nextOffset { payload.u32(offset) }
    }
  }

  /// The frame that answers `request`.
  func frame(to request: LinkFrame) throws(PayloadError) -> LinkFrame {
    try LinkFrame(
      kind: .response, sequence: request.sequence, code: request.code, payload: payload())
  }
}

/// A board's no.
struct LinkRefusal: Error, Equatable {
  /// The status as it came; newer boards may have ones that are not known here.
  let code: UInt16
  /// With `wrongOffset`: the offset to go on from.
  let nextOffset: UInt32?

  /// A refusal; `ok` is none.
  init(_ status: LinkStatus) {
    precondition(status != .ok && status != .wrongOffset, "\(status) is told in another way")
    (code, nextOffset) = (status.rawValue, nil)
  }

  /// A write elsewhere than at the offset that the board has come to.
  init(goOnFrom offset: UInt32) { (code, nextOffset) = (LinkStatus.wrongOffset.rawValue, offset) }

  fileprivate init(code: UInt16, from payload: inout PayloadReader) throws(PayloadError) {
    self.code = code
    nextOffset = code == LinkStatus.wrongOffset.rawValue ? try payload.u32() : nil
  }

  /// The status; nil for one that is not known.
  var status: LinkStatus? { LinkStatus(rawValue: code) }
}
