import EventLoop
import Glibc
import RTSP
import TestSupport

/// A server of RTSP on a free port of 127.0.0.1, whose behaviour a test writes. Each connection is served by
/// the thread of the server, one after another. Ends with the object.
final class RTSPStation: Sendable {
  /// A connection of the server. Confined to its thread.
  final class Line {
    private let descriptor: CInt
    private let requests: Lock<[String]>
    private var parser = RTSPParser()
    private let base: String
    private var isClosed = false
    var session: String? = "12345678"
    var sequence: UInt16 = 65_530
    var timestamp: UInt32 = 4_294_960_000

    init(_ descriptor: CInt, _ requests: Lock<[String]>, base: String) {
      (self.descriptor, self.requests, self.base) = (descriptor, requests, base)
    }

    deinit { end() }

    func end() {
      if !isClosed { close(descriptor) }
      isClosed = true
    }

    func send(_ bytes: [UInt8]) {
      var sent = 0
      while sent < bytes.count, !isClosed {
        let count = bytes[sent...].withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return end() }
        sent += count
      }
    }

    /// Returns the next request; nil at the end of the connection, or if none comes within a time.
    func next(within milliseconds: Int32 = 10_000) -> RTSPRequest? {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while !isClosed {
        if case .request(let request)? = try? parser.next() {
          let range = request.headers["Range"].map { " \($0)" } ?? ""
          requests.withLock { $0.append(request.method + range) }
          return request
        }
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, milliseconds) > 0 else { return nil }
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        buffer.withUnsafeBytes { parser.feed(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      }
      return nil
    }

    func answer(
      _ request: RTSPRequest, _ status: Int = 200, _ fields: [(String, String)] = [], body: [UInt8] = []
    ) {
      var response = RTSPResponse(status, status == 200 ? "OK" : "Words")
      response.headers.append("CSeq", request.headers["CSeq"] ?? "")
      for (name, value) in fields { response.headers.append(name, value) }
      response.body = body
      send(response.bytes)
    }

    /// Answers up to a request to play.
    func begin(_ description: String) -> Bool {
      while let request = next() {
        switch request.method {
        case "DESCRIBE":
          answer(request, 200, [("Content-Base", base + "/")], body: Array(description.utf8))
        case "SETUP":
          answer(
            request, 200,
            [
              ("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1"),
              ("Session", "\(session ?? "");timeout=60"),
            ])
        case "PLAY":
          answer(request, 200, [("Range", request.headers["Range"] ?? "npt=0-")])
          return true
        default: answer(request, 200, [("Public", "OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN")])
        }
      }
      return false
    }

    /// Returns the next packet as bytes of the connection.
    func packet(_ payload: [UInt8], ticks: UInt32, type: UInt8 = 0, isMarked: Bool = false) -> [UInt8] {
      let length = payload.count + 12
      let head =
        [0x24, 0, UInt8(length >> 8), UInt8(length & 0xFF), 0x80, type | (isMarked ? 0x80 : 0)]
        + Self.bytes(UInt64(sequence), 2) + Self.bytes(UInt64(timestamp), 4) + [0, 0, 0, 7]
      sequence &+= 1
      timestamp &+= ticks
      return head + payload
    }

    /// Sends seconds of PCMU in packets of 20 ms, whose bytes are the number of the packet, at once.
    func sound(_ count: Int, from first: Int = 0) {
      for number in first..<(first + count) {
        send(packet([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 160), ticks: 160))
      }
    }

    /// Leaves out packets.
    func lose(_ count: Int) {
      sequence &+= UInt16(count)
      timestamp &+= UInt32(160 * count)
    }

    static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }
  }

  static let pcmu = "v=0\r\ns=Nursery\r\na=control:*\r\nm=audio 0 RTP/AVP 0\r\na=control:a\r\n"

  private let listener: LoopbackListener
  private let received = Lock<[String]>([])
  private let thread: Lock<TestThread?>
  private let isOver = Lock(false)

  /// - Parameter serve: serves each connection; it gets the number of the connection.
  init(_ serve: @escaping @Sendable (Line, Int) -> Void) throws {
    let (listener, received, isOver) = (try LoopbackListener(blocks: true), received, isOver)
    self.listener = listener
    let base = "rtsp://127.0.0.1:\(listener.port)/live"
    thread = Lock(
      try TestThread {
        var number = 0
        while let descriptor = listener.accept(), !isOver.withLock({ $0 }) {
          let line = Line(descriptor, received, base: base)
          serve(line, number)
          line.end()
          number += 1
        }
      })
  }

  deinit {
    isOver.withLock { $0 = true }
    listener.shutDown()
    thread.withLock { $0.take() }?.join()
  }

  var port: Int { listener.port }
  var url: String { "rtsp://127.0.0.1:\(listener.port)/live" }
  /// The methods of the requests so far, with their ranges.
  var requests: [String] { received.withLock { $0 } }
}
