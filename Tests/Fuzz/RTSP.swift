import EventLoop
@testable import RTSP
@testable import Reception
@testable import StreamCore

/// libFuzzer's entry: the bytes of a connection, which a server of any kind has sent.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  let whole = Connection(input, pieces: max(1, count))
  require(
    whole == Connection(input, pieces: pieceSize(of: input)), "items do not depend on how bytes are cut")
  describe(input)
  _ = RTSPChallenge.best([String(decoding: input, as: UTF8.self)])?.authorization(
    RTSPCredentials(user: "u", password: "p"), method: "PLAY", uri: "*", number: 1, clientNonce: "n")
  return 0
}

/// The items of a connection, and the end of it.
private struct Connection: Equatable {
  var items: [RTSPParser.Item] = []
  var failure: RTSPErrorKind?

  init(_ input: [UInt8], pieces size: Int) {
    var parser = RTSPParser()
    var session = Session()
    inPieces(input, of: size) { bytes in
      guard failure == nil else { return }
      parser.feed(bytes)
      do throws(RTSPError) {
        while let item = try parser.next() {
          items.append(item)
          session.receive(item)
        }
      } catch {
        require(!error.message.utf8.contains { $0 == 10 || $0 == 13 }, "messages are of one line")
        failure = error.kind
      }
      require(parser.pendingBytes <= input.count, "no bytes are made up")
    }
  }
}

/// A client that follows whatever a server sends.
private struct Session {
  private var client = RTSPClient(
    uri: "rtsp://h/x", credentials: RTSPCredentials(user: "u", password: "p"), userAgent: "fuzz",
    clientNonce: "n")
  private var reception: RTPReception?
  private var now = Instant.start
  private var end = 0

  init() { perform(client.connected(at: now)) }

  mutating func receive(_ item: RTSPParser.Item) {
    now = now.advanced(by: .seconds(1))
    perform(client.received(item, at: now))
    perform(client.deadlinePassed(at: now))
    if case .data(let channel, let bytes) = item, channel == 9 {
      perform(bytes.first.map { client.play(from: Double($0), at: now) } ?? client.rest(at: now))
    }
    if case .data(let channel, let bytes) = item {
      _ = RTCPPacket.isGoodbye(bytes)
      // Also before the session is set up.
      if channel == 0 { deliver(bytes) }
    }
  }

  private mutating func perform(_ actions: [RTSPClient.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes):
        var parser = RTSPParser()
        bytes.withUnsafeBytes { parser.feed($0) }
        let sent = (try? parser.next()) ?? nil
        require(sent != nil && parser.pendingBytes == 0, "one whole message is sent at a time")
      case .described(let description):
        guard case .success(let choice) = RTPSound.choose(in: description) else { continue }
        reception = RTPReception(choice.sound)
        end = 0
        perform(client.setUp(choice.medium, of: description, from: 0, at: now))
      case .packet(let bytes): deliver(bytes)
      case .fail(let error):
        require(!error.message.utf8.contains { $0 == 10 || $0 == 13 }, "messages are of one line")
      case .playing, .resting, .report, .redirect: break
      }
    }
  }

  private mutating func deliver(_ bytes: [UInt8]) {
    for item in reception?.receive(bytes, at: Double(now.nanoseconds) / 1e9) ?? [] {
      switch item {
      case .sound(.frame(let frame, let bytes)):
        require(frame.length == bytes.count && !bytes.isEmpty, "frames have their bytes")
        require(frame.isHeaders || frame.samples > 0, "frames last some time")
        require(frame.isHeaders || frame.offset >= end, "frames don't overlap")
        if !frame.isHeaders { end = frame.offset + frame.length }
      case .lost(let seconds): require(seconds >= 0 && seconds < 1e7, "a loss has a length")
      case .sound, .restarted: break
      }
    }
  }
}

/// Any text in place of a description.
private func describe(_ input: [UInt8]) {
  guard let description = try? SessionDescription(input) else { return }
  require(description.media.count <= SessionDescription.mediaLimit, "media are limited")
  for range in [description.range] + description.media.map(\.range) {
    guard let range else { continue }
    require(range.start.isFinite && range.start >= 0 && (range.end ?? 0).isFinite, "a range has numbers")
  }
  if case .failure(let obstacle) = RTPSound.choose(in: description) {
    require(!obstacle.words.utf8.contains { $0 < 32 || $0 == 127 }, "obstacles are of one line")
  }
}
