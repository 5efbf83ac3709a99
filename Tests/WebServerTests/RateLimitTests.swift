import EventLoop
import TestTraits
import Testing

@testable import WebServer

@Suite("Limits of events", .tags(.page, .limits)) struct RateLimitTests {
  private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

  @Test("twenty events a second are admitted, in any second, and the delay of the next one is exact")
  func window() {
    var window = RateWindow(most: 20, in: .seconds(1))
    for index in 0..<20 { #expect(window.admit(at: at(Int64(index) * 10)) == nil) }
    #expect(window.admit(at: at(200)) == .milliseconds(800))
    #expect(window.admit(at: at(999)) == .milliseconds(1))
    #expect(window.admit(at: at(1000)) == nil)
    #expect(window.admit(at: at(1000)) == .milliseconds(10))
    // An event that was refused does not count.
    #expect(window.admit(at: at(1010)) == nil)
    #expect(!window.isIdle(at: at(2009)) && window.isIdle(at: at(2010)))
  }

  @Test("each key has a limit of its own, and the keys are bounded: the oldest gives way")
  func keys() {
    var limits = RateLimits<Int>(most: 2, in: .seconds(60), mostKeys: 3)
    #expect(limits.admit(1, at: at(0)) == (nil, true))
    #expect(limits.admit(1, at: at(1)) == (nil, false))
    #expect(limits.admit(1, at: at(2)).delay == .milliseconds(59_998))
    #expect(limits.admit(2, at: at(3)) == (nil, true))
    for key in 3..<1000 { _ = limits.admit(key, at: at(Int64(key))) }
    #expect(limits.count == 3)
    #expect(limits.admit(1, at: at(2000)) == (nil, true) && limits.count == 3)
    // Keys without an event that counts give way first.
    #expect(limits.admit(7, at: at(100_000)) == (nil, true) && limits.count == 1)
  }

  @Test(
    "ten wrong tokens of an address in a minute are counted, the first is said, further ones have to wait")
  func attempts() throws {
    let attempts = TokenAttempts()
    let (one, other) = (NetworkAddress("192.0.2.7"), NetworkAddress("192.0.2.8"))
    #expect(attempts.wrong(one, at: at(0)) == (nil, true))
    for index in 1..<10 { #expect(attempts.wrong(one, at: at(Int64(index))) == (nil, false)) }
    let further = attempts.wrong(one, at: at(10))
    #expect(further.delay == .milliseconds(59_990) && !further.isFirst)
    #expect(attempts.wrong(other, at: at(10)) == (nil, true))
    #expect(attempts.wrong(one, at: at(60_000)) == (nil, false))
    #expect(attempts.wrong(one, at: at(120_001)) == (nil, true))
    // All addresses of a network of IPv6 are one client's.
    for index in 0..<10 { _ = attempts.wrong(NetworkAddress("2001:db8::\(index + 1)"), at: at(0)) }
    #expect(attempts.wrong(NetworkAddress("2001:db8::ffff:1"), at: at(10)).delay != nil)
    #expect(attempts.wrong(NetworkAddress("2001:db8:0:1::1"), at: at(10)).delay == nil)
  }

  @Test("a request that has not arrived in time is late once; one that waits for its answer is not")
  func deadlines() {
    var table = DeadlineTable(limit: .seconds(10))
    table.open(1, 11, at: at(0))
    table.open(2, 12, at: at(1000))
    table.pause(1)
    #expect(table.next == at(11_000) && table.late(at: at(10_999)) == [])
    #expect(table.late(at: at(11_000)) == [12] && table.late(at: at(12_000)) == [] && table.next == nil)
    table.expect(1, at: at(20_000))
    #expect(table.next == at(30_000))
    table.close(1)
    table.close(2)
    #expect(table.count == 0 && table.late(at: at(99_000)) == [])
  }
}
