import EventLoop
import TestTraits
import Testing

@testable import Playback
@testable import StreamCore

@Suite("The titles of the sound in a buffer", .tags(.stream, .titles, .timeShift)) struct TitleQueueTests {
  private func at(_ seconds: Double) -> StreamTime { StreamTime(seconds: seconds) }

  @Test("the first title belongs to all sound before it; those that follow to the sound from then on")
  func order() {
    var titles = TitleQueue()
    titles.add(StreamTitle("one"), from: at(3))
    #expect(titles.advance(to: at(0), from: nil)?.text == "one")
    titles.add(StreamTitle("two"), from: at(10))
    #expect(titles.next(after: at(0)) == at(10))
    #expect(titles.advance(to: at(9), from: nil) == nil && titles.heard?.text == "one")
    #expect(titles.advance(to: at(10), from: nil)?.text == "two")
    #expect(titles.next(after: at(10)) == nil)
  }

  @Test("of titles for the same sound the last one counts")
  func same() {
    var titles = TitleQueue()
    titles.add(StreamTitle("one"), from: .zero)
    titles.add(StreamTitle("two"), from: at(5))
    titles.add(StreamTitle("three"), from: at(5))
    #expect(titles.advance(to: at(5), from: nil)?.text == "three")
    #expect(titles.advance(to: at(4), from: nil)?.text == "one", "moved back it is heard again")
  }

  @Test("titles of sound that has left the buffer are forgotten but for the one that still sounds")
  func forgets() {
    var titles = TitleQueue()
    for index in 0..<4 { titles.add(StreamTitle("\(index)"), from: at(Double(index) * 10)) }
    #expect(titles.advance(to: at(25), from: at(15))?.text == "2")
    #expect(titles.advance(to: at(12), from: at(15))?.text == "1")
    #expect(titles.advance(to: at(0), from: at(15)) == nil, "the first two are forgotten")
  }
}

@Suite("The position by a clock", .tags(.stream, .timeShift)) struct MediaClockTests {
  @Test("it moves from where it rested, to the end of the sound at most, and is moved while it runs")
  func moves() {
    func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }
    var clock = MediaClock()
    #expect(clock.time(at: at(7), end: nil) == .zero)
    clock.rest(at: StreamTime(seconds: 2))
    clock.run(from: at(10))
    #expect(clock.time(at: at(11), end: StreamTime(seconds: 60)) == StreamTime(seconds: 3))
    #expect(clock.time(at: at(99), end: StreamTime(seconds: 60)) == StreamTime(seconds: 60))
    clock.move(to: StreamTime(seconds: 20), at: at(12))
    #expect(clock.time(at: at(13), end: StreamTime(seconds: 60)) == StreamTime(seconds: 21))
    clock.rest(at: StreamTime(seconds: 21))
    clock.move(to: StreamTime(seconds: 30), at: at(14))
    #expect(clock.time(at: at(20), end: nil) == StreamTime(seconds: 30))
  }
}
