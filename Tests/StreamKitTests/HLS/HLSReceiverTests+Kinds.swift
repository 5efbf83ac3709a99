import Codecs
import Glibc
import TestSupport
import Testing

@testable import Reception
@testable import StreamCore

/// Addresses whose stream changes its kind.
extension HLSReceiverTests {
  @Test("the sound of a station after segments follows one gap, and is not compared with that before them")
  func stationAfterSegments() throws {
    let station = try HLSStation(.transport)
    var live = Live(Programme(repeating: try FrameProgramme(.mp3, seconds: 20).bytes, bytesPerSecond: 16_000))
    live.pace = .realTime(8)
    station.station.answer("/live/index.m3u8", with: .live(live))
    let receiver = try receive(station, clock: .loop)
    #expect(receiver.wait(for: "format mp3"), "\(receiver.events)")
    station.station.answer("/live/index.m3u8", with: station.list)
    station.station.cut()
    #expect(receiver.wait(for: "format aac") && station.wait(for: 5), "\(receiver.events)")
    func joins() -> [String] { receiver.events.filter { $0.hasPrefix("reconnected") } }
    let before = joins().count
    station.station.answer("/live/index.m3u8", with: .live(live))
    #expect(receiver.wait(for: "format mp3", count: 2), "\(receiver.events)")
    // More than any search for a join holds.
    let start = receiver.buffer.range.end
    func length() -> Double { (receiver.buffer.range.end - start).seconds }
    for _ in 0..<3_000 where length() < 20 { usleep(10_000) }
    #expect(length() >= 20)
    var packets: [PacketBuffer.Packet] = []
    while case .frame(let packet, _) = receiver.buffer.read() { packets.append(packet) }
    let change = try #require(packets.lastIndex { $0.frame.codec == .aac }) + 1
    #expect(packets.count > change)
    guard case .gap(let seconds)? = packets[change].discontinuity else {
      Issue.record("\(String(describing: packets[change].discontinuity))")
      return
    }
    #expect(receiver.gaps.last == seconds)
    #expect(joins().dropFirst(before) == ["reconnected gap true"], "\(receiver.events)")
    _ = receiver.end()
  }
}
