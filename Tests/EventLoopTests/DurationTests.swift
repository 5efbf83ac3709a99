import TestTraits
import Testing

@testable import EventLoop

@Suite("Durations and numbers", .tags(.time)) struct DurationTests {
  @Test("seconds go there and back, cut to nanoseconds") func seconds() {
    #expect(Duration(inSeconds: 1.5) == .milliseconds(1_500))
    #expect(Duration(inSeconds: -0.25) == .milliseconds(-250))
    #expect(Duration(inSeconds: 1e-10) == .zero)
    #expect(Duration.nanoseconds(1_500_000_000).inSeconds == 1.5)
    #expect(WallTime(inSeconds: 2.25) == WallTime(nanoseconds: 2_250_000_000))
    #expect(WallTime(nanoseconds: 2_250_000_000).inSeconds == 2.25)
  }

  @Test("a clock that is set beyond April 2262 stands still at the last moment that there is")
  func lateClock() {
    #expect(Int64.nanoseconds(seconds: 9_223_372_036, rest: 854_775_807) == .max)
    #expect(Int64.nanoseconds(seconds: 9_223_372_036, rest: 999_999_999) == .max)
    #expect(Int64.nanoseconds(seconds: 32_503_680_000, rest: 5) == .max)
    #expect(Int64.nanoseconds(seconds: 1, rest: 5) == 1_000_000_005)
  }

  @Test("milliseconds are whole ones") func milliseconds() {
    #expect(Duration.microseconds(1_999).inMilliseconds == 1)
    #expect(Duration.seconds(3).inMilliseconds == 3_000)
  }

  @Test("a delay doubles up to its limit, and begins anew after a success") func backoff() {
    var backoff = Backoff(from: .milliseconds(500), upTo: .seconds(3))
    let delays = (0..<5).map { _ in backoff.next() }
    #expect(delays == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3)])
    backoff.reset()
    #expect(backoff == Backoff(from: .milliseconds(500), upTo: .seconds(3)))
    #expect(backoff.next() == .milliseconds(500))
  }
}
