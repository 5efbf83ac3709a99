import EventLoop
import Testing

@testable import StreamKit

@Suite("following a list of HLS") struct HLSFollowerTests {
  private let url: StreamAddress = "http://radio.example/live.m3u8"
  private let error = StreamError(.network, "gone")
  private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  private func list(_ numbers: Range<Int>, length: Double = 4, isEnded: Bool = false, name: String = "s")
    -> HLSPlaylist
  {
    var media = HLSMedia(sequence: numbers.lowerBound, targetDuration: length)
    media.segments = numbers.map { HLSSegment(sequence: $0, reference: "\(name)\($0)", duration: length) }
    media.isEnded = isEnded
    return .media(media)
  }

  /// The actions in words: the number of a segment, "load", "lost 4", …
  private func words(_ actions: [HLSFollower.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .load(let address): "load \(address.path)"
      case .fetch(let piece): "\(piece.segment.sequence)\(piece.isContinuous ? "" : " new")"
      case .cancelFetch: "cancel"
      case .lost(let seconds): "lost \(seconds)"
      case .file(let seconds): "file \(seconds)"
      case .grown: "grown"
      case .report(let error): "report \(error.code)"
      case .fail(let error): "fail \(error.code)"
      case .complete: "complete"
      }
    }
  }

  @Test("asks again after a target duration, after half of one while nothing is new")
  func reload() {
    var follower = HLSFollower(rateLimit: 320_000)
    #expect(words(follower.open(list(10..<16), at: url, at: at(0))) == ["grown", "13 new"])
    #expect(words(follower.segmentReceived(at: at(0.1))) == ["14"])
    #expect(words(follower.segmentReceived(at: at(0.2))) == ["15"])
    #expect(words(follower.segmentReceived(at: at(0.3))) == [])
    #expect(follower.deadline == at(4))
    #expect(words(follower.deadlinePassed(received: 0, at: at(4))) == ["load /live.m3u8"])
    #expect(words(follower.loaded(list(10..<16), at: url, at: at(4.1))) == [])
    #expect(follower.deadline == at(6))
    #expect(words(follower.deadlinePassed(received: 0, at: at(6))) == ["load /live.m3u8"])
    #expect(words(follower.unchanged(at: at(6.1))) == [])
    #expect(follower.deadline == at(8))
    #expect(words(follower.deadlinePassed(received: 0, at: at(8))) == ["load /live.m3u8"])
    #expect(words(follower.loaded(list(11..<17), at: url, at: at(8.1))) == ["grown", "16"])
    #expect(follower.deadline == at(12))
  }

  @Test("a target duration of 0 is no reason to ask without end")
  func zero() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(0..<0, length: 0), at: url, at: at(0))
    #expect(follower.deadline == at(1))
    _ = follower.deadlinePassed(received: 0, at: at(1))
    _ = follower.loaded(list(0..<0, length: 0), at: url, at: at(1))
    #expect(follower.deadline == at(1.5))
  }

  @Test("after an outage it continues with the segment under way; what the list has lost is a gap")
  func outage() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    _ = follower.segmentReceived(at: at(1))
    follower.close(received: 1.5)
    #expect(words(follower.open(list(12..<18), at: url, at: at(9))) == ["grown", "14"])
    follower.close(received: 1.5)
    // 14 but for what came of it, 15 to 17, which were listed, and 18, 19.
    #expect(words(follower.open(list(20..<26), at: url, at: at(60))) == ["grown", "lost 22.5", "20 new"])
  }

  @Test("a segment that fails is asked for again, and left out at last")
  func failure() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    func fail(_ time: Double) -> [String] {
      words(follower.segmentFailed(error, received: 1, isAnswered: true, hasSound: true, at: at(time)))
    }
    #expect(fail(1) == [])
    #expect(follower.deadline == at(1.5))
    #expect(words(follower.deadlinePassed(received: 1, at: at(1.5))) == ["13 new"])
    #expect(fail(1.6) == [])
    #expect(words(follower.deadlinePassed(received: 1, at: at(2.6))) == ["13 new"])
    #expect(fail(2.7) == ["report stream.network", "lost 3.0", "14 new"])
    let other = follower.segmentFailed(error, received: 0, isAnswered: false, hasSound: true, at: at(3))
    #expect(words(other) == ["fail stream.network"])
  }

  @Test("a version that fails is left for the next one down, and tried again after a minute")
  func versions() {
    var follower = HLSFollower(rateLimit: 320_000)
    let master = HLSMaster(
      variants: [96, 128, 64].map { .init(reference: "\($0)", bitRate: $0 * 1000, kind: .audio) })
    #expect(words(follower.open(.master(master), at: url, at: at(0))) == ["load /128"])
    #expect(words(follower.loadFailed(error, at: at(0.1))) == ["load /96"])
    #expect(words(follower.loaded(list(10..<16), at: url, at: at(0.2))) == ["grown", "13 new"])
    let failed = follower.segmentFailed(error, received: 1, isAnswered: true, hasSound: true, at: at(1))
    #expect(words(failed) == ["load /64"])
    #expect(words(follower.loaded(list(10..<16), at: url, at: at(1.2))) == ["grown", "13 new"])
    #expect(words(follower.segmentReceived(at: at(2))) == ["14"])
    #expect(words(follower.segmentReceived(at: at(60.5))) == ["load /128"])
    #expect(words(follower.loaded(list(13..<19), at: url, at: at(60.6))) == ["grown", "15 new"])
    // All fail: so does the connection.
    #expect(words(follower.loadFailed(error, at: at(200))) == ["cancel", "load /96"])
    #expect(words(follower.loadFailed(error, at: at(200))) == ["load /64"])
    #expect(words(follower.loadFailed(error, at: at(200))) == ["fail stream.network"])
  }

  @Test("an older copy of a list is ignored; numbers that begin anew are not")
  func backwards() {
    var follower = HLSFollower(rateLimit: 320_000)
    _ = follower.open(list(10..<16), at: url, at: at(0))
    for time in 1...3 { _ = follower.segmentReceived(at: at(Double(time))) }
    _ = follower.deadlinePassed(received: 0, at: at(4))
    #expect(words(follower.loaded(list(8..<14), at: url, at: at(4))) == [])
    _ = follower.deadlinePassed(received: 0, at: at(8))
    #expect(words(follower.loaded(list(11..<17), at: url, at: at(8))) == ["grown", "16"])
    _ = follower.segmentReceived(at: at(9))
    _ = follower.deadlinePassed(received: 0, at: at(12))
    #expect(words(follower.loaded(list(0..<3), at: url, at: at(12))) == ["grown", "0 new"])
  }

  @Test("a list that is complete at first is a file; a live one that ends has ended like a connection")
  func ends() {
    var file = HLSFollower(rateLimit: 320_000)
    #expect(
      words(file.open(list(0..<2, isEnded: true), at: url, at: at(0))) == ["grown", "file 8.0", "0 new"])
    #expect(file.deadline == nil)
    #expect(words(file.segmentReceived(at: at(1))) == ["1"])
    #expect(words(file.segmentReceived(at: at(2))) == ["complete"])
    var live = HLSFollower(rateLimit: 320_000)
    _ = live.open(list(0..<1), at: url, at: at(0))
    _ = live.segmentReceived(at: at(1))
    _ = live.deadlinePassed(received: 0, at: at(4))
    #expect(
      words(live.loaded(list(0..<1, isEnded: true), at: url, at: at(4))) == ["grown", "fail stream.network"])
  }
}
