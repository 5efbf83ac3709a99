import EventLoop
import TestTraits
import Testing

@testable import RTSP

@Suite("Messages and data of a connection", .tags(.stream))
struct RTSPParserTests {
  private static let stream =
    Array("RTSP/1.0 200 OK\r\nCSeq: 1\r\nX: a\r\n b\r\nContent-Length: 4\r\n\r\nbody".utf8)
    + [0x24, 0, 0, 3, 1, 2, 3]
    + Array("\r\nOPTIONS rtsp://h/x RTSP/1.0\nCSeq: 7\n\n".utf8) + [0x24, 1, 0, 0]
    + Array("RTSP/1.0 404 Not Found\r\n\r\n".utf8)

  private func items(_ bytes: [UInt8], by size: Int) throws -> [RTSPParser.Item] {
    var (parser, items) = (RTSPParser(), [RTSPParser.Item]())
    for start in stride(from: 0, to: bytes.count, by: size) {
      bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { parser.feed($0) }
      while let item = try parser.next() { items.append(item) }
    }
    return items
  }

  @Test(
    "messages and data come out the same, however the bytes are divided", arguments: [1, 2, 3, 7, 10_000])
  func pieces(size: Int) throws {
    let found = try items(Self.stream, by: size)
    #expect(found.count == 5)
    guard case .response(let first) = found[0], case .request(let request) = found[2] else {
      Issue.record("\(found)")
      return
    }
    #expect(first.status == 200 && first.number == 1 && first.body == Array("body".utf8))
    #expect(first.headers["x"] == "a b")
    #expect(found[1] == .data(channel: 0, [1, 2, 3]))
    #expect(request.method == "OPTIONS" && request.headers["CSEQ"] == "7")
    #expect(found[3] == .data(channel: 1, []))
  }

  @Test("what is sent can be read")
  func roundTrip() throws {
    var request = RTSPRequest("SETUP", "rtsp://h/x")
    request.headers.append("CSeq", "3")
    request.body = [1, 2, 3]
    guard case .request(let read)? = try items(request.bytes, by: 5).first else {
      Issue.record("no request")
      return
    }
    #expect(read.uri == "rtsp://h/x" && read.body == [1, 2, 3] && read.headers["CSeq"] == "3")
  }

  @Test(
    "another protocol and sizes that lie are refused before memory is taken",
    arguments: [
      ("HTTP/1.1 400 Bad Request\r\n", RTSPErrorKind.malformed), ("SSH-2.0-x\r\n", .malformed),
      ("RTSP/1.0 200 OK\r\nContent-Length: 10485760\r\n\r\n", .tooLarge),
      ("RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\n", .malformed),
      ("RTSP/1.0 200 OK\r\nnothing\r\n\r\n", .malformed),
      ("RTSP/1.0 200 OK\r\n" + String(repeating: "a: b\r\n", count: 300) + "\r\n", .tooLarge),
      (String(repeating: "x", count: 70_000), .tooLarge),
    ])
  func hostile(text: String, kind: RTSPErrorKind) {
    let error = #expect(throws: RTSPError.self) { try items(Array(text.utf8), by: 1000) }
    #expect(error?.kind == kind)
  }

  @Test("a packet that is cut off waits for its rest")
  func cutOff() throws {
    #expect(try items([0x24, 0, 0xFF, 0xFF, 1, 2, 3], by: 2).isEmpty)
  }
}
