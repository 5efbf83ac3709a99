import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("A stream that is received", .waiting, .tags(.stream, .connection))
struct StationReceiverTests {
  private static let programmes = Result {
    try Dictionary(
      uniqueKeysWithValues: [FrameProgramme.Kind.mp3, .aac].map {
        ($0, try FrameProgramme($0, seconds: 60, silence: []))
      })
  }

  /// Packets of MPEG-TS, whose payload is no frame.
  private static let transportStream: [UInt8] = (0..<40).flatMap { (number: Int) -> [UInt8] in
    let payload: [UInt8] = (4..<188).map { UInt8(truncatingIfNeeded: $0 * 31 + number * 17) & 0x3F }
    return [0x47, 0x41, 0, 0x10] + payload
  }

  private func live(_ kind: FrameProgramme.Kind) throws -> (Live, [UInt8]) {
    guard let programme = try Self.programmes.get()[kind] else { throw TestFailure("no programme") }
    var live = Live(.init(repeating: programme.bytes, bytesPerSecond: 16_000))
    live.metaint = 8_192
    return (live, programme.bytes)
  }

  /// Returns `true` if `bytes` are a piece of the endless repetition of `programme` that begins within 4 KiB behind `start`.
  private func isSlice(_ bytes: [UInt8], of programme: [UInt8], from start: Int) -> Bool {
    (start..<start + 4096).contains { first in
      bytes.indices.allSatisfy { bytes[$0] == programme[(first + $0) % programme.count] }
    }
  }

  @Test(
    "the bytes received over drops are a slice of the station's",
    arguments: [FrameProgramme.Kind.mp3, .aac], [0, 8_000, 32_000, 48_000])
  func exact(kind: FrameProgramme.Kind, outage: Int) throws {
    let (live, programme) = try live(kind)
    let station = try Station()
    station.answer(
      "/live", with: .live(live).dropping(at: 150_000, by: .reset, outage: outage),
      .live(live).dropping(at: 190_001, by: .finish, outage: outage), .live(live))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "full"), "\(receiver.events)")
    let bytes = receiver.end()
    let events = receiver.events
    #expect(bytes.count > 600_000)
    #expect(isSlice(bytes, of: programme, from: try #require(station.visits.first).start), "\(events)")
    #expect(events.filter { $0 == "reconnected stitched" }.count == 2, "\(events)")
    #expect(events.first == "connecting" && events[1] == "answered Test station 128")
  }

  @Test(
    "a proxy's page in the midst of a frame is no part of it, and the next connection joins there",
    arguments: [FrameProgramme.Kind.mp3, .aac],
    ["HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<html>Bad gateway", "<HTML><BODY>gone"])
  func pageInFrame(kind: FrameProgramme.Kind, page: String) throws {
    let (live, programme) = try live(kind)
    let station = try Station()
    let text = Array((page + String(repeating: "<p>The server is away.</p>\r\n", count: 30)).utf8)
    // In the midst of a frame, where what is left of it is shorter than the page.
    let frame = try #require(StreamFramer.frames(of: programme).first { $0.offset > 170_000 })
    let offset = frame.offset + frame.length / 2
    var broken = live
    broken.metaint = nil
    broken.programme = .init(bytesPerSecond: 16_000) { range in
      range.map { index in
        index >= offset ? text[min(index - offset, text.count - 1)] : programme[index % programme.count]
      }
    }
    var whole = live
    whole.metaint = nil
    let start = live.start(edge: live.age)
    station.answer(
      "/live", with: .live(broken).dropping(at: offset + text.count - start, by: .finish), .live(whole))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "full"), "\(receiver.events)")
    let bytes = receiver.end()
    #expect(isSlice(bytes, of: programme, from: start), "\(receiver.events)")
    #expect(receiver.events.filter { $0.hasPrefix("reconnected") } == ["reconnected stitched"])
  }

  @Test("a list leads to the station; its entries are tried in turn")
  func playlist() throws {
    let (live, programme) = try live(.mp3)
    let station = try Station()
    station.answer(
      "/live", with: .page("[playlist]\nFile1=/gone\nFile2=/real\n", type: "audio/x-scpls"))
    station.answer("/real", with: .live(live))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "full"), "\(receiver.events)")
    let bytes = receiver.end()
    #expect(isSlice(bytes, of: programme, from: try #require(station.visits.last).start))
    #expect(receiver.events.contains("failed stream.not_found"))
    #expect(!receiver.events.contains { $0.hasPrefix("gave up") })
  }

  @Test(
    "a stream that can't be played is reported by its kind, and ends the first connection",
    arguments: [
      (Answer.page("<html><body>Our station</body></html>"), "stream.content"),
      (.page(Self.transportStream, type: "video/mp2t"), "stream.unsupported"),
      (.page(Self.transportStream, type: "audio/mpeg"), "stream.unsupported"),
      (.status("404 Not Found"), "stream.not_found"), (.status("403 Forbidden"), "stream.auth"),
      (.status("500 Oops"), "stream.http"), (.raw("garbage\r\n\r\n"), "stream.content"),
      (.endlessHeaders, "stream.content"),
      (.page("#EXTM3U\n#EXT-X-TARGETDURATION:10\nx.ts\n", type: "audio/x-mpegurl"), "stream.not_found"),
      (.page("[playlist]\n", type: "audio/x-scpls"), "stream.not_found"),
    ])
  func refused(answer: Answer, code: String) throws {
    let station = try Station()
    station.answer("/live", with: answer)
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "gave up"), "\(receiver.events)")
    _ = receiver.end()
    #expect(receiver.events.suffix(2) == ["failed \(code)", "gave up \(code)"])
  }

  @Test("a file on a server is distinguished from a station")
  func file() throws {
    let station = try Station()
    station.answer(
      "/live", with: .file(try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), type: "audio/mpeg"))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "held back"), "\(receiver.events)")
    _ = receiver.end()
    #expect(receiver.events.contains("file with parts") && !receiver.events.contains("full"))
  }

  @Test("a port without a listener is reported as a network failure")
  func refusedConnection() throws {
    let station = try Station()
    station.refuse()
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "gave up"))
    _ = receiver.end()
    #expect(receiver.events == ["connecting", "failed stream.network", "gave up stream.network"])
  }

  @Test("titles are reported once each, in their order, also over a drop")
  func titles() throws {
    let (plain, programme) = try live(.mp3)
    var live = plain
    live.programme = .init(
      repeating: programme, bytesPerSecond: 16_000,
      titles: [.init("One - First", at: 0), .init("Two - Café", at: 300_000), .init("Three", at: 500_000)])
    let station = try Station()
    station.answer("/live", with: .live(live).dropping(at: 150_000, by: .reset), .live(live))
    let receiver = try Receiver(station)
    #expect(receiver.wait(for: "full"), "\(receiver.events)")
    _ = receiver.end()
    #expect(
      receiver.events.filter { $0.hasPrefix("title") } == [
        "title One - First", "title Two - Café", "title Three",
      ])
  }

  @Test("a stream without a listener is read by the clock, and as it arrives once there is one")
  func pace() throws {
    let time = Lock(20.0)
    var live = try live(.mp3).0
    live.pace = .controlled { Int(time.withLock { $0 } * 16_000) }
    let station = try Station()
    station.answer("/live", with: .live(live))
    let network = try NetworkThread()
    defer { network.close() }
    var options = ReceiverOptions()
    options.clock = .moved { Instant(nanoseconds: Int64(time.withLock { $0 } * 1e9)) }
    let tee = FrameTee()
    let reception = try StationReceiver(
      at: StreamAddress(station.url("/live")), options: options, network: network, tee: tee
    ) { _ in }
    reception.start()
    defer { reception.stop() }
    /// On the thread of the reception.
    func ask<Value: Sendable>(_ question: @escaping @Sendable () -> Value) -> Value {
      let found = Lock<Value?>(nil)
      network.loop.post { found.withLock { $0 = question() } }
      while true {
        if let value = found.withLock({ $0 }) { return value }
        usleep(100)
      }
    }
    func isPaced() -> Bool { ask { reception.driver.pace != nil } }
    /// Waits until so many bytes of sound have been read.
    func wait(forBytes count: Int) -> Bool {
      for _ in 0..<60_000 {
        if ask({ reception.sound.position }) >= count { return true }
        usleep(1_000)
      }
      return false
    }
    /// Lets time pass, half a minute at most; of each half second at least a half has been read when the next one comes.
    func pass(until isWanted: Bool) -> Bool {
      for _ in 0..<60 where isPaced() != isWanted {
        let read = ask { reception.sound.position }
        time.withLock { $0 += 0.5 }
        reception.clockMoved()
        if !wait(forBytes: read + 4_000) { return false }
      }
      return isPaced() == isWanted
    }
    #expect(wait(forBytes: 40_000))
    #expect(!isPaced(), "a pace must show first")
    #expect(pass(until: true))
    tee.play(StreamBuffer(blocks: 1_000, wait: .zero))
    reception.change(options)
    #expect(!isPaced(), "who hears it waits for no clock")
    tee.play(nil)
    #expect(pass(until: true))
  }
}
