internal import EventLoop

/// What runs on the board.
enum ImageType: UInt8, CaseIterable, Sendable {
  case application = 0
  case bootloader = 1
}

/// What a headset can do; bits that are not known here are kept.
struct Capabilities: OptionSet, Hashable, Sendable {
  let rawValue: UInt64

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
  var nonce: [UInt8]
  /// The versions of the link that the host speaks.
  var oldest = LinkFrame.version
  var newest = LinkFrame.version
}

extension Hello {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    nonce = try payload.field()
    (oldest, newest) = try (payload.u8(), payload.u8())
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    try payload.field(nonce)
    payload.u8(oldest)
    payload.u8(newest)
  }
}

/// Who the board is, and what it asks the host to prove.
struct Welcome: LinkMessage {
  /// 16 random bytes; another number of them is an error that the host tells.
  var challenge: [UInt8]
  var session: UInt32
  var board: BoardInfo
}

extension Welcome {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    challenge = try payload.field()
    session = try payload.u32()
    board = try BoardInfo(from: &payload)
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    try payload.field(challenge)
    payload.u32(session)
    try board.write(to: &payload)
  }
}

/// What a board is.
struct BoardInfo: LinkMessage {
  var image: ImageType
  var capabilities: Capabilities
  /// The most bytes of a payload that the board takes.
  var longestPayload: UInt16
  var model: String
  var firmwareVersion: String
  /// How often the board was started.
  var boots: UInt32
  /// The accessory's own name; empty for one without.
  var name = ""
}

extension BoardInfo {
  /// The same with texts as they are shown and kept: a board may say anything.
  var cleaned: BoardInfo {
    var board = self
    (board.model, board.firmwareVersion, board.name) = (model.cleaned, firmwareVersion.cleaned, name.cleaned)
    return board
  }

  init(from payload: inout PayloadReader) throws(PayloadError) {
    image = try payload.choice()
    capabilities = Capabilities(rawValue: try payload.u64())
    longestPayload = try payload.u16()
    model = try payload.text()
    firmwareVersion = try payload.text()
    boots = try payload.u32()
    name = try payload.text()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.choice(image)
    payload.u64(capabilities.rawValue)
    payload.u16(longestPayload)
    try payload.text(model)
    try payload.text(firmwareVersion)
    payload.u32(boots)
    try payload.text(name)
  }
}

/// Proves that the host has the key; the answer proves the same of the board.
struct Authenticate: LinkRequest {
  typealias Answer = Proof
  static let operation = LinkOperation.authenticate

  /// 16 bytes; another number of them is an error that the board tells.
  var mac: [UInt8]
}

extension Authenticate {
  init(from payload: inout PayloadReader) throws(PayloadError) { mac = try payload.field() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { try payload.field(mac) }
}

/// The board's proof that it has the key.
struct Proof: LinkMessage {
  var mac: [UInt8]
}

extension Proof {
  init(from payload: inout PayloadReader) throws(PayloadError) { mac = try payload.field() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { try payload.field(mac) }
}

/// Asks whether the board is there.
struct Ping: LinkRequest, EmptyMessage {
  typealias Answer = Done
  static let operation = LinkOperation.ping
}

/// Another host wants the place of this one, which a PING keeps.
struct AreYouThere: LinkEvent, EmptyMessage {
  static let operation = LinkOperation.areYouThere
}

/// Asks what the board is.
struct GetInfo: LinkRequest, EmptyMessage {
  typealias Answer = BoardInfo
  static let operation = LinkOperation.info
}

/// Ends the session.
struct Bye: LinkRequest, EmptyMessage {
  typealias Answer = Done
  static let operation = LinkOperation.bye
}
