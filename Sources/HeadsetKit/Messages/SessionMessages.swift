internal import EventLoop

/// An image that runs on a board.
enum ImageType: UInt8, CaseIterable, Sendable {
  case application = 0
  case bootloader = 1
}

/// The abilities of a headset; unknown bits are kept.
struct Capabilities: OptionSet, Hashable, Sendable {
  let rawValue: UInt64

  init(rawValue: UInt64) { self.rawValue = rawValue }

  static let noiseCancelling = Capabilities(rawValue: 1 << 0)
  static let ambient = Capabilities(rawValue: 1 << 1)
  static let equalizer = Capabilities(rawValue: 1 << 2)
  static let battery = Capabilities(rawValue: 1 << 3)
  static let firmwareUpdate = Capabilities(rawValue: 1 << 4)
}

/// Begins a session, at any time.
struct Hello: LinkRequest {
  typealias Answer = Welcome
  static let operation = LinkOperation.hello

  /// 16 random bytes.
  var nonce: [UInt8] = []
  /// The versions of the link that the host speaks.
  var oldest = LinkFrame.version
  var newest = LinkFrame.version

  init() {}
  init(nonce: [UInt8], oldest: UInt8 = LinkFrame.version, newest: UInt8 = LinkFrame.version) {
    (self.nonce, self.oldest, self.newest) = (nonce, oldest, newest)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.field(&nonce)
    try coder.u8(&oldest)
    try coder.u8(&newest)
  }
}

/// The identity of the board, and the challenge that the host answers.
struct Welcome: LinkMessage {
  /// 16 random bytes; the host reports another length as an error.
  var challenge: [UInt8] = []
  var session: UInt32 = 0
  var board = BoardInfo()

  init() {}
  init(challenge: [UInt8], session: UInt32, board: BoardInfo) {
    (self.challenge, self.session, self.board) = (challenge, session, board)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.field(&challenge)
    try coder.u32(&session)
    try board.code(&coder)
  }
}

/// The description of a board.
struct BoardInfo: LinkMessage {
  var image = ImageType.application
  var capabilities = Capabilities()
  /// The most bytes of a payload that the board accepts.
  var longestPayload: UInt16 = 0
  var model = ""
  var firmwareVersion = ""
  /// The number of times that the board was started.
  var boots: UInt32 = 0
  /// The accessory's own name; empty for one without.
  var name = ""

  init() {}
  init(
    image: ImageType, capabilities: Capabilities, longestPayload: UInt16, model: String,
    firmwareVersion: String, boots: UInt32, name: String = ""
  ) {
    (self.image, self.capabilities, self.longestPayload, self.model) = (
      image, capabilities, longestPayload, model
    )
    (self.firmwareVersion, self.boots, self.name) = (firmwareVersion, boots, name)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
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

  /// The same description with texts that are safe to show and keep: a board may send anything.
  var cleaned: BoardInfo {
    var board = self
    (board.model, board.firmwareVersion, board.name) = (model.cleaned, firmwareVersion.cleaned, name.cleaned)
    return board
  }
}

/// Proves that the host has the key; the answer proves the same of the board.
struct Authenticate: LinkRequest {
  typealias Answer = Proof
  static let operation = LinkOperation.authenticate

  /// 16 bytes; the board reports another length as an error.
  var mac: [UInt8] = []

  init() {}
  init(mac: [UInt8]) { self.mac = mac }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.field(&mac) }
}

/// The board's proof that it has the key.
struct Proof: LinkMessage {
  var mac: [UInt8] = []

  init() {}
  init(mac: [UInt8]) { self.mac = mac }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.field(&mac) }
}

/// Asks the board for a sign of life.
struct Ping: LinkRequest, EmptyMessage {
  typealias Answer = Done
  static let operation = LinkOperation.ping

  init() {}
}

/// Reports that another host wants to replace this one; a PING prevents that.
struct AreYouThere: LinkEvent, EmptyMessage {
  static let operation = LinkOperation.areYouThere

  init() {}
}

/// Asks for the description of the board.
struct GetInfo: LinkRequest, EmptyMessage {
  typealias Answer = BoardInfo
  static let operation = LinkOperation.info

  init() {}
}

/// Ends the session.
struct Bye: LinkRequest, EmptyMessage {
  typealias Answer = Done
  static let operation = LinkOperation.bye

  init() {}
}
