internal import EventLoop

/// A connection of a listener to a station, on a thread of its own.
struct StationConnection {
  private let socket: Socket
  private let core: StationCore
  /// The number of cuts before its request.
  private var cuts = 0

  init(_ socket: Socket, of core: StationCore) { (self.socket, self.core) = (socket, core) }

  mutating func serve() {
    guard let visit = readRequest() else { return }
    let path = visit.path
    cuts = core.state.withLock { $0.cuts.count }
    let make = core.state.withLock { $0.make }
    let made = make?(visit)
    let (answer, number, position) = core.state.withLock { state -> (Answer, Int, Int) in
      guard let made else { return note(visit, path, &state) }
      state.visits.append(visit)
      return (made, state.visits.count - 1, 0)
    }
    defer { core.state.withLock { $0.visits[number].isOpen = false } }
    if let credentials = answer.credentials {
      let wanted = "Basic " + base64("\(credentials.user):\(credentials.password)")
      guard visit["Authorization"] == wanted else {
        let refusal = Answer.page("who are you?", status: "401 Unauthorized")
          .with("WWW-Authenticate", "Basic realm=\"station\"")
        return deliver(refusal, to: visit, from: 0, path, number)
      }
    }
    deliver(answer, to: visit, from: position, path, number)
  }

  /// Records the visit.
  /// - Returns: the response, the number of the visit, and its start position in the programme.
  private func note(_ visit: Visit, _ path: String, _ state: inout StationCore.State) -> (Answer, Int, Int) {
    var visit = visit
    if !state.keepsHeaders { visit.headers = [] }
    defer { state.visits.append(visit) }
    let bare = String(path.prefix { $0 != "?" })
    let path = state.mounts[path] == nil ? bare : path
    guard var mount = state.mounts[path] else {
      return (state.folder?.answer(bare) ?? .status("404 Not Found"), state.visits.count, 0)
    }
    let answer = mount.answers.count > 1 ? mount.answers.removeFirst() : mount.answers[0]
    if case .live(let live) = answer.body {
      visit.edge = mount.edge(of: live)
      visit.start = live.start(edge: visit.edge)
      visit.end = visit.start
    }
    state.mounts[path] = mount
    return (answer, state.visits.count, visit.start)
  }

  private func readRequest() -> Visit? {
    var bytes: [UInt8] = []
    while bytes.count < 65_536 {
      let more = socket.receive(4096)
      if more.isEmpty { return nil }
      bytes += more
      guard let end = bytes.firstRange(of: [13, 10, 13, 10] as [UInt8])?.upperBound else { continue }
      var visit = Visit(String(decoding: bytes[..<end], as: UTF8.self))
      let count = visit?["Content-Length"].flatMap { Int($0) } ?? 0
      visit?.body = readBody(bytes[end...], count)
      return visit
    }
    return nil
  }

  /// Reads a body of `count` bytes, of which `first` have arrived.
  private func readBody(_ first: ArraySlice<UInt8>, _ count: Int) -> [UInt8] {
    var body = Array(first)
    while body.count < count {
      let more = socket.receive(65_536)
      if more.isEmpty { break }
      body += more
    }
    return body
  }

  // MARK: The response

  private func deliver(_ answer: Answer, to visit: Visit, from position: Int, _ path: String, _ number: Int) {
    switch answer.body {
    case .endlessHeaders:
      guard socket.send(Array("\(answer.statusLine)\r\n".utf8)) else { return }
      var count = 0
      repeat { count += 1 } while socket.send(Array("X-Filler-\(count): \(count)\r\n".utf8))
    case .raw(let bytes): send(answer, source(bytes), path, number)
    case .bytes(let bytes):
      guard sendHead(answer, answer.statusLine, length: answer.chunk == nil ? bytes.count : nil) else {
        return
      }
      send(answer, source(bytes), path, number)
    case .made(let make):
      var made = answer
      made.body = .bytes(make())
      deliver(made, to: visit, from: position, path, number)
    case .file(let bytes): sendFile(answer, bytes, visit, path, number)
    case .live(let live):
      let metaint = visit["Icy-MetaData"] == "1" ? live.metaint : nil
      guard sendHead(answer, answer.statusLine, length: nil, metaint: metaint) else { return }
      var interleaver = Interleaver(live.programme, from: position, preRoll: live.preRoll, metaint: metaint)
      send(answer, { nextLive(live, &interleaver, $0, path, number) }, path, number)
    }
  }

  private func sendFile(_ answer: Answer, _ bytes: [UInt8], _ visit: Visit, _ path: String, _ number: Int) {
    guard answer.givesRanges, let range = visit["Range"] else {
      guard sendHead(answer, answer.statusLine, length: bytes.count) else { return }
      return send(answer, source(bytes), path, number)
    }
    let ends = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard let first = ends.first.flatMap({ Int($0) }), first < bytes.count else {
      _ = sendHead(answer, "HTTP/1.1 416 Range Not Satisfiable", length: 0)
      return
    }
    let last = min(ends.dropFirst().first.flatMap { Int($0) } ?? bytes.count - 1, bytes.count - 1)
    let answer = answer.with("Content-Range", "bytes \(first)-\(last)/\(bytes.count)")
    let part = first <= last ? Array(bytes[first...last]) : []
    guard sendHead(answer, "HTTP/1.1 206 Partial Content", length: part.count) else { return }
    send(answer, source(part), path, number)
  }

  private func sendHead(_ answer: Answer, _ statusLine: String, length: Int?, metaint: Int? = nil) -> Bool {
    var lines = [statusLine] + answer.headers.map { "\($0.name): \($0.value)" }
    if let metaint { lines.append("icy-metaint: \(metaint)") }
    if answer.chunk != nil { lines.append("Transfer-Encoding: chunked") }
    if let length = answer.contentLength ?? length { lines.append("Content-Length: \(length)") }
    lines.append("Connection: close")
    let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    guard answer.headDelay > .zero else { return socket.send(bytes) }
    return bytes.allSatisfy { socket.send([$0]) && socket.sleep(answer.headDelay) }
  }

  // MARK: The body

  /// Returns up to `count` bytes; empty when there are none at the moment, nil at the end.
  private typealias Source = (_ count: Int) -> [UInt8]?

  private func source(_ bytes: [UInt8]) -> Source {
    var rest = bytes[...]
    return { count in
      guard !rest.isEmpty else { return nil }
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
  }

  private func nextLive(
    _ live: Live, _ interleaver: inout Interleaver, _ count: Int, _ path: String, _ number: Int
  ) -> [UInt8] {
    var edge = Int.max
    switch live.pace {
    case .asRead: break
    case .realTime, .controlled: edge = core.state.withLock { $0.mounts[path]?.edge(of: live) ?? 0 }
    }
    let bytes = interleaver.next(count, edge: edge)
    let end = interleaver.position
    core.state.withLock { state in
      state.visits[number].end = end
      if edge == .max, let old = state.mounts[path]?.edge { state.mounts[path]?.edge = max(old, end) }
    }
    return bytes
  }

  private func send(_ answer: Answer, _ next: Source, _ path: String, _ number: Int) {
    var (sent, piece) = (0, 0)
    var stall = answer.stall
    while true {
      if let (position, duration) = stall, sent == position {
        stall = nil
        core.state.withLock { $0.visits[number].isSilent = true }
        guard socket.sleep(duration) else { return }
        core.state.withLock { $0.visits[number].isSilent = false }
      }
      if let drop = answer.drop, sent == drop.position { return end(answer, drop.ending, path) }
      if let ending = core.state.withLock({ $0.cuts.dropFirst(cuts).first }) {
        if ending == .reset { socket.reset() }
        return
      }
      var count = answer.pieces.isEmpty ? 16_384 : answer.pieces[piece % answer.pieces.count]
      if let chunk = answer.chunk { count = min(count, chunk) }
      for position in [stall?.position, answer.drop?.position] {
        if let position, position > sent { count = min(count, position - sent) }
      }
      guard let bytes = next(count) else { break }
      if bytes.isEmpty {
        guard socket.sleep(answer.wait) else { return }
        continue
      }
      guard socket.send(answer.chunk == nil ? bytes : chunk(bytes)) else { return }
      (sent, piece) = (sent + bytes.count, piece + 1)
      core.state.withLock { $0.visits[number].sent = sent }
      if answer.pieceDelay > .zero, !socket.sleep(answer.pieceDelay) { return }
    }
    if answer.chunk != nil { _ = socket.send(Array("0\r\n\r\n".utf8)) }
  }

  private func chunk(_ bytes: [UInt8]) -> [UInt8] {
    Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [13, 10]
  }

  /// Ends the connection, and applies the outage before the listener can reconnect.
  private func end(_ answer: Answer, _ ending: Answer.Ending, _ path: String) {
    core.state.withLock { state in
      if let edge = state.mounts[path]?.edge { state.mounts[path]?.edge = edge + answer.outage }
    }
    if ending == .reset { socket.reset() }
    guard let refusal = answer.refusal else { return }
    core.listen(false)
    socket.end()
    socket.wait(refusal)
    core.listen(true)
  }
}
