import AudioCore
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// A stream of a server that listens, and its sink, which receives a block for each number. For one thread.
private final class StreamFixture {
  let listener: LoopbackListener
  private let sink: StreamSink
  /// Number of blocks so far.
  private(set) var written = 0

  init() throws {
    let listener = try LoopbackListener(blocks: false)
    self.listener = listener
    sink = StreamSink(name: "one", format: .session) { .tcp(host: "127.0.0.1", port: listener.port) }
  }

  /// Writes blocks, of which each sample is the number of its block.
  func write(blocks: Int = 1) throws {
    for _ in 0..<blocks {
      let block = [Float](repeating: Float(written) / 32_768, count: 1920)
      try block.withUnsafeBufferPointer { try sink.write($0) }
      written += 1
    }
  }
}

@Suite("The source of a snapserver's stream", .tags(.speaker, .snapcast, .rendering)) struct StreamSinkTests {
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
    let stream = try StreamFixture()
    try stream.write(blocks: 5)
    let first = try #require(stream.listener.accept())
    // More than the sockets of both sides hold; none of it is waited for.
    try stream.write(blocks: 100)
    #expect(stream.listener.accept() == nil)
    let heard = blocks(first)
    #expect(heard.count > 10 && heard.count < 100 && heard == Array(0..<heard.count))
    close(first)
    let next = stream.written
    try stream.write(blocks: 4)
    #expect(stream.listener.accept() == nil)
    try stream.write()
    let second = try #require(stream.listener.accept())
    #expect(blocks(second, bytes: 5 * 3840) == Array(next..<next + 5))
    close(second)
  }

  @Test("a server of this machine that is behind is sent as much less")
  func late() throws {
    let stream = try StreamFixture()
    try stream.write(blocks: 5)
    let connection = try #require(stream.listener.accept())
    defer { close(connection) }
    let peer = try #require(PeerBacklog(of: OwnedDescriptor(dup(connection))))
    #expect(peer.bytesNow() == 0)
    var heard: [Int] = []
    for _ in 0..<250 {
      try stream.write()
      // Late by three blocks, once.
      if stream.written == 66 { try stream.write(blocks: 3) }
      heard += blocks(connection, bytes: 3840)
    }
    let steps = zip(heard, heard.dropFirst()).map { $1 - $0 }
    #expect(steps.count { $0 == 4 } == 1 && steps.count { $0 == 1 } == steps.count - 1, "\(steps)")
    #expect(heard.last == stream.written - 6)
  }

  @Test("a server that reads nothing is fed anew after two seconds of sound")
  func stuck() throws {
    let stream = try StreamFixture()
    try stream.write(blocks: 5)
    let first = try #require(stream.listener.accept())
    defer { close(first) }
    try stream.write(blocks: 100)
    #expect(stream.listener.accept() == nil)
    try stream.write(blocks: 120)
    let second = try #require(stream.listener.accept())
    close(second)
  }
}
