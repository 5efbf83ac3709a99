internal import EventLoop

/// An image that runs on a board.
package enum ImageType: UInt8, CaseIterable, Sendable {
  case application = 0
  case bootloader = 1
}

/// The abilities of a headset; unknown bits are kept.
package struct Capabilities: OptionSet, Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static let noiseCancelling = Capabilities(rawValue: 1 << 0)
  package static let ambient = Capabilities(rawValue: 1 << 1)
  package static let equalizer = Capabilities(rawValue: 1 << 2)
  package static let battery = Capabilities(rawValue: 1 << 3)
  package static let firmwareUpdate = Capabilities(rawValue: 1 << 4)
}

/// Begins a session, at any time.
package struct Hello: LinkRequest {
  package typealias Answer = Welcome
  package static let operation = LinkOperation.hello

  /// 16 random bytes.
  package var nonce: [UInt8] = []
  /// The versions of the link that the host speaks.
  package var oldest = LinkFrame.version
  package var newest = LinkFrame.version

  package init() {}
  package init(nonce: [UInt8], oldest: UInt8 = LinkFrame.version, newest: UInt8 = LinkFrame.version) {
    (self.nonce, self.oldest, self.newest) = (nonce, oldest, newest)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.field(&nonce)
    try coder.u8(&oldest)
    try coder.u8(&newest)
  }
}

/// The identity of the board, and the challenge that the host answers.
package struct Welcome: LinkMessage {
  /// 16 random bytes; the host reports another length as an error.
  package var challenge: [UInt8] = []
  package var session: UInt32 = 0
  package var board = BoardInfo()

  package init() {}
  package init(challenge: [UInt8], session: UInt32, board: BoardInfo) {
    (self.challenge, self.session, self.board) = (challenge, session, board)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.field(&challenge)
    try coder.u32(&session)
    try board.code(&coder)
  }
}

/// The description of a board.
package struct BoardInfo: LinkMessage {
  package var image = ImageType.application
  package var capabilities = Capabilities()
  /// The most bytes of a payload that the board accepts.
  package var longestPayload: UInt16 = 0
  package var model = ""
  package var firmwareVersion = ""
  /// The number of times that the board was started.
  package var boots: UInt32 = 0
  /// The accessory's own name; empty for one without.
  package var name = ""

  package init() {}
  package init(
    image: ImageType, capabilities: Capabilities, longestPayload: UInt16, model: String,
    firmwareVersion: String, boots: UInt32, name: String = ""
  ) {
    (self.image, self.capabilities, self.longestPayload, self.model) = (
      image, capabilities, longestPayload, model
    )
    (self.firmwareVersion, self.boots, self.name) = (firmwareVersion, boots, name)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&image)
    var bits = capabilities.rawValue
    try coder.u64(&bits)
    capabilities = Capabilities(rawValue: bits)
    try coder.u16(&longestPayload)
    try coder.text(&model)
    try coder.text(&firmwareVersion)
    try coder.u32(&boots)
    try coder.text(&name)
  }

  /// The description with texts that are safe to show and keep: a board may send anything.
  package var cleaned: BoardInfo {
    var board = self
    (board.model, board.firmwareVersion, board.name) = (model.cleaned, firmwareVersion.cleaned, name.cleaned)
    return board
  }
}

/// Proves that the host has the key; the answer proves the same of the board.
package struct Authenticate: LinkRequest {
  package typealias Answer = Proof
  package static let operation = LinkOperation.authenticate

  /// 16 bytes; the board reports another length as an error.
  package var mac: [UInt8] = []

  package init() {}
  package init(mac: [UInt8]) { self.mac = mac }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.field(&mac) }
}

/// The board's proof that it has the key.
package struct Proof: LinkMessage {
  package var mac: [UInt8] = []

  package init() {}
  package init(mac: [UInt8]) { self.mac = mac }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.field(&mac) }
}

/// Asks the board for a sign of life.
package typealias Ping = SingleRequest<0x0003, Done, Done>

/// Reports that another host wants to replace this one; a PING prevents that.
package typealias AreYouThere = SingleEvent<0x8003, Done>

/// Asks for the description of the board.
package typealias GetInfo = SingleRequest<0x0004, Done, BoardInfo>

/// Ends the session.
package typealias Bye = SingleRequest<0x0005, Done, Done>
