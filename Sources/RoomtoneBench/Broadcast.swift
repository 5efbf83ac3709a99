internal import Glibc

/// Stations at 128 kbit/s for any number of listeners, on one thread: `/1`, `/2` and so on, each with a phase
/// of its own, so that not all are sent to at once. Runs in a process of its own, whose load is
/// measured apart from the peers'.
///
/// Sends as Icecast 2.4 does: 64 KiB at once to a new listener, then blocks of 1,400 bytes as they arise, and
/// titles to listeners that ask for them.
struct Broadcast {
  static let bytesPerSecond = 16_000
  private static let block = 1_400
  private static let burst = 65_535
  private static let metaint = 16_000
  /// Seconds between two rounds of the listeners.
  private static let tick = 0.005

  private let programme: [UInt8]
  private let door: Int32
  private let start = Bench.now()
  private var listeners: [Listener] = []

  /// Serves until it is killed.
  /// - Parameter portFile: the file to which the port is written.
  static func run(portFile: String) throws {
    signal(SIGPIPE, SIG_IGN)
    var broadcast = try Broadcast(portFile: portFile)
    while true { broadcast.serve() }
  }

  private init(portFile: String) throws {
    programme = try Fixture.bytes("Tests/Fixtures/mp3-cbr128-44k.mp3")
    door = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let door = door
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let status = bind(door, address, length)
        return status == 0 ? getsockname(door, address, &length) : status
      }
    }
    guard door >= 0, status == 0, listen(door, 1024) == 0 else {
      throw StartBench.Failed(message: "can't listen on 127.0.0.1")
    }
    _ = fcntl(door, F_SETFL, O_NONBLOCK)
    let file = open(portFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let port = Array("\(UInt16(bigEndian: address.sin_port))\n".utf8)
    guard file >= 0, write(file, port, port.count) == port.count else {
      throw StartBench.Failed(message: "can't write \(portFile)")
    }
    close(file)
  }

  /// Runs one tick: accepts listeners, reads their requests, sends bytes that are due.
  private mutating func serve() {
    while true {
      let descriptor = accept(door, nil, nil)
      guard descriptor >= 0 else { break }
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      listeners.append(Listener(descriptor: descriptor))
    }
    let time = Bench.now() - start
    for index in listeners.indices {
      if listeners[index].station == nil { ask(&listeners[index]) }
      guard let station = listeners[index].station else { continue }
      // The golden ratio spreads the stations over the duration of a block.
      let phase = Double(station) * 0.618_034 * Double(Self.block)
      let age = 10 * Self.burst + Int(time * Double(Self.bytesPerSecond) + phase)
      send(&listeners[index], upTo: age / Self.block * Self.block)
    }
    listeners.removeAll { listener in
      if listener.isGone { close(listener.descriptor) }
      return listener.isGone
    }
    usleep(UInt32(Self.tick * 1e6))
  }

  private func ask(_ listener: inout Listener) {
    var bytes = [UInt8](repeating: 0, count: 2048)
    let count = recv(listener.descriptor, &bytes, bytes.count, 0)
    if count == 0 || count < 0 && errno != EAGAIN { listener.isGone = true }
    guard count > 0 else { return }
    listener.request += bytes[..<count]
    let request = String(decoding: listener.request, as: UTF8.self)
    guard request.hasSuffix("\r\n\r\n") else { return }
    let number = request.drop { $0 != "/" }.dropFirst().prefix { $0.isNumber }
    listener.wantsTitles =
      request.lowercased().contains("icy-metadata:1") || request.lowercased().contains("icy-metadata: 1")
    listener.request = []
    listener.station = Int(number) ?? 0
    var head = "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nicy-name: Station \(number)\r\nicy-br: 128\r\n"
    if listener.wantsTitles { head += "icy-metaint: \(Self.metaint)\r\n" }
    listener.pending = Array((head + "\r\n").utf8)
  }

  /// Sends the programme up to this position, as far as the socket accepts it.
  private func send(_ listener: inout Listener, upTo edge: Int) {
    if listener.position < 0 { listener.position = (edge - Self.burst) / Self.block * Self.block }
    while !listener.isGone {
      if listener.pending.isEmpty { listener.fill(from: programme, upTo: edge, metaint: Self.metaint) }
      guard !listener.pending.isEmpty else { return }
      let count = Glibc.send(listener.descriptor, listener.pending, listener.pending.count, 0)
      if count < 0, errno != EAGAIN { listener.isGone = true }
      guard count > 0 else { return }
      listener.pending.removeFirst(count)
    }
  }

  private struct Listener {
    let descriptor: Int32
    /// The bytes of its request so far.
    var request: [UInt8] = []
    /// The number of the requested station, nil until the request is complete.
    var station: Int?
    var wantsTitles = false
    /// The position in the programme, below 0 before the beginning.
    var position = -1
    /// Bytes until the next title.
    var untilTitle = Broadcast.metaint
    /// The number of the title that it received last.
    var title = -1
    var pending: [UInt8] = []
    var isGone = false

    mutating func fill(from programme: [UInt8], upTo edge: Int, metaint: Int) {
      while position < edge {
        if wantsTitles, untilTitle == 0 { addTitle(metaint) }
        let place = position % programme.count
        let count = min(edge - position, programme.count - place, wantsTitles ? untilTitle : .max)
        pending += programme[place..<place + count]
        position += count
        untilTitle -= count
      }
    }

    /// Adds the title of the current song, of four minutes. Source: the ICY protocol: length in units of 16
    /// bytes, then the text.
    private mutating func addTitle(_ metaint: Int) {
      untilTitle = metaint
      let number = position / (240 * Broadcast.bytesPerSecond)
      guard number != title else { return pending.append(0) }
      title = number
      let text = Array("StreamTitle='Some Artist - Song \(number)';".utf8)
      let length = (text.count + 15) / 16
      pending.append(UInt8(length))
      pending += text + [UInt8](repeating: 0, count: length * 16 - text.count)
    }
  }
}

/// A process that broadcasts, ended with its last reference.
final class BroadcastProcess {
  private let process: MeasuredProcesses
  private let port: Int

  /// Starts this program again, as a broadcaster, and waits until it listens.
  init(in folder: String) throws {
    var own = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard readlink("/proc/self/exe", &own, own.count - 1) > 0 else {
      throw StartBench.Failed(message: "/proc is not there")
    }
    process = MeasuredProcesses(
      String(decoding: own.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    let file = "\(folder)/port"
    try process.start(["--broadcast", file])
    for _ in 0..<500 {
      let text = (try? Fixture.bytes(at: file)).map { String(decoding: $0, as: UTF8.self) } ?? ""
      if text.hasSuffix("\n"), let port = Int(text.dropLast()) {
        self.port = port
        return
      }
      usleep(10_000)
    }
    throw StartBench.Failed(message: "the broadcaster does not start")
  }

  /// The prefix of the stations' URLs, to which a number is added.
  var url: String { "http://127.0.0.1:\(port)/" }

  /// Returns its processor time in seconds.
  func workTime() throws -> Double { try process.workTime() }
}
