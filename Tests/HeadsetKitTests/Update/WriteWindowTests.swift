import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The window of writes", .tags(.headset, .link, .firmware)) struct WriteWindowTests {
  @Test("as many parts are under way as were granted, and the last one is as long as what is left")
  func parts() {
    var window = WriteWindow(size: 10, start: 1, chunk: 4, width: 2)
    #expect(window.act() == .send(1..<5))
    #expect(window.act() == .send(5..<9))
    #expect(window.act() == .wait)
    window.answered(1..<5, next: 5)
    #expect(window.acknowledged == 5)
    #expect(window.act() == .send(9..<10))
    window.answered(5..<9, next: 9)
    #expect(window.act() == .wait)
    window.answered(9..<10, next: 10)
    #expect(window.act() == .done && window.acknowledged == 10)
  }

  @Test("when the board wants to resume elsewhere, writes under way return first") func detour() {
    var window = WriteWindow(size: 100, start: 0, chunk: 10, width: 3)
    for _ in 0..<3 { _ = window.act() }
    window.answered(0..<10, next: 10)
    #expect(window.act() == .send(30..<40))
    window.refused(resumeAt: 10)
    #expect(window.act() == .wait)
    window.refused(resumeAt: 10)
    window.refused(resumeAt: 10)
    #expect(window.act() == .send(10..<20))
  }

  @Test("a board that asks for the same for ever, or for more than there is, is reported")
  func stuck() {
    var window = WriteWindow(size: 100, start: 0, chunk: 10, width: 1)
    for _ in 0..<9 {
      #expect(window.act() == .send(0..<10))
      window.refused(resumeAt: 0)
    }
    #expect(window.act() == .stuck("the headset asks for the same part again and again"))
    var other = WriteWindow(size: 100, start: 0, chunk: 10, width: 1)
    _ = other.act()
    other.refused(resumeAt: 101)
    #expect(other.act() == .stuck("the headset asks for byte 101, and 10 were sent to it"))
  }

  @Test("a board gets every byte, whatever it lets fall") func everything() {
    var random = SeededRandom(seed: 21)
    for _ in 0..<300 {
      let size = Int.random(in: 1...5_000, using: &random)
      let (chunk, width) = (Int.random(in: 1...700, using: &random), Int.random(in: 1...8, using: &random))
      let start = Int.random(in: 0...size, using: &random)
      var window = WriteWindow(size: size, start: start, chunk: chunk, width: width)
      var (there, pending) = (start, [(part: Range<Int>, refusal: Int?)]())
      loop: while true {
        switch window.act() {
        case .send(let part):
          #expect(pending.count < width && !part.isEmpty && part.count <= chunk && part.upperBound <= size)
          if part.lowerBound > there || Int.random(in: 0..<10, using: &random) == 0 {
            pending.append((part, there))
          } else {
            there = max(there, part.upperBound)
            pending.append((part, nil))
          }
        case .wait:
          let (part, refusal) = pending.removeFirst()
          if let refusal {
            window.refused(resumeAt: refusal)
          } else {
            window.answered(part, next: max(part.upperBound, there))
          }
        case .done: break loop
        case .stuck:
          // Ten refusals in a row happen at random, too.
          there = size
          break loop
        }
      }
      #expect(there == size && pending.isEmpty)
    }
  }
}
