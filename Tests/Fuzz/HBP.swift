@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

/// libFuzzer's entry: bytes of a link to a headset, the payload of a message, and what a frame is made of.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  checkReader(input)
  checkStuffing(input)
  for type in LinkMessages.requests { checkRequest(type, input) }
  for type in LinkMessages.events { checkMessage(type, input) }
  checkHandshake(input)
  checkFrame(input)
  return 0
}

/// The result of a reader.
private struct Found: Equatable {
  var packets: [LinkPacket] = []
  var dropped: [LinkPacket.Fault: Int] = [:]
}

private func checkReader(_ input: [UInt8]) {
  let whole = read(input, pieces: input.count)
  require(
    read(input, pieces: pieceSize(of: input)) == whole,
    "what is found does not depend on how the bytes are cut")
  let zeros = input.reduce(0) { $1 == 0 ? $0 + 1 : $0 }
  require(whole.packets.count <= zeros, "a frame ends at a zero")
  var board = LinkSeal(key: [1, 2, 3], side: .board)
  for packet in whole.packets {
    require(packet.frame.body == packet.body, "a frame is written as it was read")
    require(CRC32.of(packet.body.dropLast(4)) == packet.checksum, "a frame has its checksum")
    require((try? board.open(packet)) == nil, "nobody makes a frame without the key")
  }
}

private func read(_ input: [UInt8], pieces size: Int) -> Found {
  var (reader, found) = (LinkReader(), Found())
  inPieces(input, of: size) { bytes in
    reader.read(ArraySlice(bytes)) { found.packets.append($0) }
    require(reader.held <= LinkReader.longest, "the reader holds no more than it says")
  }
  require(reader.frames == found.packets.count, "frames are counted")
  found.dropped = reader.dropped
  // Whatever came, one frame makes room for the next.
  guard let ping = try? Ping().frame(sequence: 1) else { return found }
  _ = reader.read(ping.unsealed[...])
  require(reader.read(ping.unsealed[...]).map(\.frame) == [ping], "a frame behind a frame is found")
  return found
}

private func checkStuffing(_ input: [UInt8]) {
  let stuffed = COBS.encode(input)
  require(!stuffed.contains(0), "stuffed bytes have no zero")
  require(stuffed.count <= input.count + input.count / 254 + 1, "stuffing adds few bytes")
  require(COBS.decode(stuffed) == input, "stuffed bytes are found again")
  if let bytes = COBS.decode(input) {
    require(bytes.count < input.count, "stuffed bytes are more")
    require(COBS.decode(COBS.encode(bytes)) == bytes, "what was stuffed is found again")
  }
}

private func checkRequest<Request: LinkRequest>(_: Request.Type, _ input: [UInt8]) {
  checkMessage(Request.self, input)
  checkMessage(LinkReply<Request.Answer>.self, input)
}

private func checkMessage<Message: LinkMessage>(_: Message.Type, _ input: [UInt8]) {
  guard input.count <= LinkFrame.longestPayload, let message = try? Message(payload: input) else { return }
  require((try? message.payload()) == input, "\(Message.self) is written as it was read")
}

private func checkHandshake(_ input: [UInt8]) {
  let nonce = [UInt8](repeating: 1, count: LinkHandshake.length)
  let info = BoardInfo(
    image: .application, capabilities: [], longestPayload: 1_024, model: "", firmwareVersion: "", boots: 0)
  var board = BoardHandshake(key: [1, 2, 3])
  _ = try? board.received(hello: input, welcome: Welcome(challenge: nonce, session: 0, board: info))
  if case .begin? = try? board.received(authenticate: input) {
    require(false, "nobody proves a key without it")
  }
  guard let host = try? HostHandshake(key: [1, 2, 3], nonce: nonce) else { return }
  guard let (welcome, _, handshake) = try? host.received(welcome: input) else { return }
  require(welcome.challenge.count == LinkHandshake.length, "challenges are 16 bytes")
  require((try? host.received(proof: input, in: handshake)) == nil, "nobody proves a key without it")
}

/// A frame of these bytes comes through as it is, sealed and not.
private func checkFrame(_ input: [UInt8]) {
  guard input.count > 5, let kind = LinkKind(rawValue: input[0] % 3) else { return }
  let (sequence, code) = (UInt16(input[1]) << 8 | UInt16(input[2]), UInt16(input[3]) << 8 | UInt16(input[4]))
  let payload = Array(input[5...])
  guard let frame = try? LinkFrame(kind: kind, sequence: sequence, code: code, payload: payload) else {
    require(payload.count > LinkFrame.longestPayload, "payloads up to 1,024 bytes are taken")
    return
  }
  var (host, board) = (LinkSeal(key: [4], side: .host), LinkSeal(key: [4], side: .board))
  guard let sealed = try? host.seal(frame) else { return }
  var reader = LinkReader()
  let packets = reader.read((frame.unsealed + sealed)[...])
  require(packets.map(\.frame) == [frame, frame], "frames come through as they are")
  require((try? board.open(packets[0])) == nil, "a frame without a seal is refused")
  require((try? board.open(packets[1])) == frame, "a sealed frame is taken")
  require((try? board.open(packets[1])) == nil, "a frame that was here is refused")
}
