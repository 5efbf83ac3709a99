import AudioCore
import Glibc
import TestSupport
import Testing

@testable import SpeakerKit

@Suite("The source of a snapserver's stream") struct StreamSinkTests {
  private let door = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)

  /// Listens at a free port of loopback.
  private func listen() throws -> Int {
    let port = try SnapcastRig.freePorts(1)[0]
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(door, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0, fcntl(door, F_SETFL, O_NONBLOCK) == 0, Glibc.listen(door, 4) == 0 else {
      throw TestFailure("no port for a server")
    }
    return port
  }

  /// Accepts a connection; nil without one.
  private func call() -> CInt? {
    let connection = accept(door, nil, nil)
    return connection >= 0 ? connection : nil
  }

  /// Reads numbers of blocks up to the end, or so many bytes.
  private func blocks(_ connection: CInt, bytes: Int = .max) -> [Int] {
    var (all, chunk): ([UInt8], [UInt8]) = ([], .init(repeating: 0, count: 65_536))
    while all.count < bytes {
      let count = read(connection, &chunk, min(chunk.count, bytes - all.count))
      guard count > 0 else { break }
      all += chunk[..<count]
    }
    return stride(from: 0, to: all.count - 1, by: 3840).map { Int(all[$0]) | Int(all[$0 + 1]) << 8 }
  }

  @Test("a server that is behind by all that its socket holds is fed anew, with the block of the moment")
  func behind() throws {
    let port = try listen()
    defer { close(door) }
    let sink = StreamSink(.tcp(host: "127.0.0.1", port: port), name: "one", format: .session)
    var written = 0
    func write() throws {
      let block = [Float](repeating: Float(written) / 32_768, count: 1920)
      try block.withUnsafeBufferPointer { try sink.write($0) }
      written += 1
    }
    for _ in 0..<5 { try write() }
    let first = try #require(call())
    // More than the sockets of both sides hold; none of it is waited for.
    for _ in 0..<100 { try write() }
    #expect(call() == nil)
    let heard = blocks(first)
    #expect(heard.count > 10 && heard.count < 100 && heard == Array(0..<heard.count))
    close(first)
    let next = written
    for _ in 0..<4 { try write() }
    #expect(call() == nil)
    try write()
    let second = try #require(call())
    #expect(blocks(second, bytes: 5 * 3840) == Array(next..<next + 5))
    close(second)
  }

  @Test("a server of this machine that is behind is sent as much less")
  func late() throws {
    let port = try listen()
    defer { close(door) }
    let sink = StreamSink(.tcp(host: "127.0.0.1", port: port), name: "one", format: .session)
    var written = 0
    func write() throws {
      let block = [Float](repeating: Float(written) / 32_768, count: 1920)
      try block.withUnsafeBufferPointer { try sink.write($0) }
      written += 1
    }
    for _ in 0..<5 { try write() }
    let connection = try #require(call())
    defer { close(connection) }
    let peer = try #require(PeerBacklog(of: OwnedDescriptor(dup(connection))))
    #expect(peer.bytesNow() == 0)
    var heard: [Int] = []
    for _ in 0..<250 {
      try write()
      // Late by three blocks, once.
      if written == 66 { for _ in 0..<3 { try write() } }
      heard += blocks(connection, bytes: 3840)
    }
    let steps = zip(heard, heard.dropFirst()).map { $1 - $0 }
    #expect(steps.count { $0 == 4 } == 1 && steps.count { $0 == 1 } == steps.count - 1, "\(steps)")
    #expect(heard.last == written - 6)
  }

  @Test("a server that reads nothing is fed anew after two seconds of sound")
  func stuck() throws {
    let port = try listen()
    defer { close(door) }
    let sink = StreamSink(.tcp(host: "127.0.0.1", port: port), name: "one", format: .session)
    let block = [Float](repeating: 0.5, count: 1920)
    for _ in 0..<5 { try block.withUnsafeBufferPointer { try sink.write($0) } }
    let first = try #require(call())
    defer { close(first) }
    for _ in 0..<100 { try block.withUnsafeBufferPointer { try sink.write($0) } }
    #expect(call() == nil)
    for _ in 0..<120 { try block.withUnsafeBufferPointer { try sink.write($0) } }
    let second = try #require(call())
    close(second)
  }
}
