import TestTraits
import Testing

@testable import SpeakerKit

@Suite("When the next block is due", .tags(.speaker, .rendering, .time))
struct PacerTests {
  private let second: Int64 = 1_000_000_000
  private let block: Int64 = 20_000_000

  @Test("by the clock: at once, then every 20 ms, however late each was noticed")
  func clock() {
    var pacer = Pacer(sampleRate: 48_000)
    #expect(pacer.next(now: second, mode: .clock, isReady: true, latency: 0) == .render(heardAt: second))
    pacer.rendered(frames: 960, now: second)
    #expect(
      pacer.next(now: second + 5, mode: .clock, isReady: true, latency: 0) == .wait(until: second + block))
    let late = second + block + 7_000_000
    #expect(
      pacer.next(now: late, mode: .clock, isReady: true, latency: 0) == .render(heardAt: second + block))
    pacer.rendered(frames: 960, now: late)
    #expect(
      pacer.next(now: late, mode: .clock, isReady: true, latency: 0) == .wait(until: second + 2 * block))
  }

  @Test("for no outputs: ten blocks at once, each heard when it is due, then none for 200 ms")
  func unheard() {
    var pacer = Pacer(sampleRate: 48_000)
    for round: Int64 in 0..<3 {
      let start = 1_000_000_000 + round * 200_000_000
      for block: Int64 in 0..<10 {
        let step = pacer.next(now: start, mode: .unheard, isReady: true, latency: 0)
        #expect(step == .render(heardAt: start + block * 20_000_000))
        pacer.rendered(frames: 960, now: start)
      }
      let step = pacer.next(now: start, mode: .unheard, isReady: true, latency: 0)
      #expect(step == .wait(until: start + 200_000_000))
    }
  }

  @Test("no drift after an hour of blocks")
  func noDrift() {
    var pacer = Pacer(sampleRate: 44_100)
    var now = second
    for _ in 0..<180_000 {
      if case .wait(let due) = pacer.next(now: now, mode: .clock, isReady: true, latency: 0) { now = due }
      pacer.rendered(frames: 882, now: now)
    }
    #expect(
      pacer.next(now: now, mode: .clock, isReady: true, latency: 0) == .wait(until: second + 3600 * second))
  }

  @Test("weeks without a pause are counted on")
  func weeks() {
    var pacer = Pacer(sampleRate: 48_000)
    _ = pacer.next(now: second, mode: .clock, isReady: true, latency: 0)
    let hours: Int64 = 500
    pacer.rendered(frames: Int(hours) * 3600 * 48_000, now: second)
    let due = second + hours * 3600 * second
    #expect(pacer.next(now: due - 1, mode: .clock, isReady: true, latency: 0) == .wait(until: due))
    #expect(pacer.next(now: due, mode: .clock, isReady: true, latency: 0) == .render(heardAt: due))
  }

  @Test("frames and time follow from each other, however many they are")
  func frameTime() {
    for frames: Int64 in [0, 1, 47_999, 48_000, -48_001, 1 << 40, 1 << 48] {
      let time = FrameTime.nanoseconds(of: frames, at: 48_000)
      #expect(abs(FrameTime.frames(in: time, at: 48_000) - frames) <= 1)
    }
    #expect(FrameTime.nanoseconds(of: .max, at: 48_000) == .max)
    #expect(FrameTime.nanoseconds(of: .min, at: 48_000) == .min)
    #expect(FrameTime.frames(in: .max, at: 192_000) == 1_770_887_431_076_116)
  }

  @Test("a block that has no room waits; one that is very late begins a new count")
  func late() {
    var pacer = Pacer(sampleRate: 48_000)
    _ = pacer.next(now: 0, mode: .clock, isReady: true, latency: 0)
    pacer.rendered(frames: 960, now: 0)
    #expect(pacer.next(now: block, mode: .clock, isReady: false, latency: 0) == .waitForRoom)
    let after = block + Pacer.greatestLateness + 1
    #expect(pacer.next(now: after, mode: .clock, isReady: true, latency: 0) == .render(heardAt: after))
    pacer.rendered(frames: 960, now: after)
    #expect(pacer.next(now: after, mode: .clock, isReady: true, latency: 0) == .wait(until: after + block))
  }

  @Test("by the card's room: heard as much later as is queued before it")
  func room() {
    var pacer = Pacer(sampleRate: 48_000)
    #expect(
      pacer.next(now: second, mode: .room, isReady: true, latency: 4_800)
        == .render(heardAt: second + 100_000_000))
    #expect(pacer.next(now: second, mode: .room, isReady: false, latency: 4_800) == .waitForRoom)
  }

  @Test("a card that accepts everything at once is held to two per cent above the clock")
  func bottomless() {
    var pacer = Pacer(sampleRate: 48_000)
    var now: Int64 = 0
    var blocks: Int64 = 0
    while now < 100 * second {
      switch pacer.next(now: now, mode: .room, isReady: true, latency: 0) {
      case .render:
        blocks += 1
        pacer.rendered(frames: 960, now: now)
      case .wait(let due): now = due
      case .waitForRoom: Issue.record("it has room")
      }
    }
    #expect((5_000...5_120).contains(blocks))
  }
}
