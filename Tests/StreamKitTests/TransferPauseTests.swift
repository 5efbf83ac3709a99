import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@testable import Reception
@testable import StreamCore

@Suite("A transfer that is paused", .waiting, .tags(.stream, .connection)) struct TransferPauseTests {
  private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  @Test("resumes when no side wants it paused any more, in any order") func owners() {
    let limit = StreamTime(seconds: 20)
    var pause = TransferPause()
    pause.add(StreamTime(seconds: 30), at: at(0))
    #expect(pause.hold(above: limit, isDiskBehind: true, at: at(0)) == true)
    #expect(pause.end == at(10.5))
    #expect(pause.timePassed(at: at(5)) == false)
    #expect(pause.timePassed(at: at(11)) == false, "the disk is behind")
    #expect(pause.end == nil && pause.isHolding)
    #expect(pause.diskHasRoom() == true)
    #expect(!pause.isHolding)
    #expect(pause.hold(above: limit, isDiskBehind: true, at: at(0)) == true)
    #expect(pause.diskHasRoom() == false, "it is too far ahead")
    #expect(pause.isHolding)
    #expect(pause.timePassed(at: at(11)) == true)
    #expect(pause.diskHasRoom() == false, "it is read already")
    #expect(pause.hold(above: nil, isDiskBehind: false, at: at(0)) == false)
  }

  @Test("a server that is faster than the disk waits for it, and nothing of what it sends is lost")
  func slowDisk() throws {
    let station = try Station()
    let programme = try FrameProgramme(.mp3, seconds: 60).bytes
    station.answer("/live", with: .live(Live(.init(repeating: programme))))
    let network = try NetworkThread()
    defer { network.close() }
    let (tee, queue) = (FrameTee(), RecordingQueue())
    tee.record(queue, back: .zero)
    let url = try StreamAddress(station.url("/live"))
    let reception = StationReceiver(at: url, options: .init(), network: network, tee: tee) { _ in }
    reception.start()
    defer { reception.stop() }
    var (next, size, start) = (Int?.none, 0, 0)
    for _ in 0..<20 {
      for _ in 0..<6_000 where !queue.isBehind { usleep(10_000) }
      // Longer than what is left up to the limit takes.
      usleep(50_000)
      var batches: [RecordingQueue.Batch] = []
      queue.drain(into: &batches)
      let waited = batches.reduce(0) { $0 + $1.bytes.count }
      #expect(waited > RecordingQueue.behindLimit / 2 && waited < RecordingQueue.behindLimit * 3 / 2)
      #expect(!batches.contains { $0.isOverrun || !$0.marks.isEmpty })
      for frame in batches.flatMap(\.frames) {
        #expect(next == nil || frame.offset == next)
        if next == nil { start = frame.offset }
        next = frame.offset + frame.length
        size += frame.length
      }
    }
    #expect(size == (next ?? 0) - start && size > 15 << 20)
  }
}
