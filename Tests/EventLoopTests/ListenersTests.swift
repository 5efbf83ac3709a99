import TestTraits
import Testing

@testable import EventLoop

@Suite("Listeners", .tags(.events)) struct ListenersTests {
  @Test("are kept in the order of their subscription, and removed by number") func order() {
    var listeners = Listeners<String>()
    let numbers = ["a", "b", "c", "d"].map { listeners.add($0) }
    listeners.remove(numbers[1])
    listeners.remove(numbers[1])
    #expect(listeners.all == ["a", "c", "d"])
    listeners.remove(numbers[3])
    listeners.remove(numbers[0])
    #expect(listeners.all == ["c"])
    #expect(listeners.add("e") > numbers[3])
    #expect(listeners.removeAll() == ["c", "e"] && listeners.all.isEmpty)
    listeners.remove(numbers[2])
    let next = listeners.add("f")
    listeners.remove(numbers[3])
    #expect(listeners.all == ["f"])
    listeners.remove(next)
    #expect(listeners.all.isEmpty)
  }

  @Test("those added after a number are distinguished from earlier ones") func upTo() {
    var listeners = Listeners<String>()
    _ = listeners.add("a")
    let last = listeners.lastNumber
    _ = listeners.add("b")
    #expect(listeners.all(upTo: last) == ["a"])
    #expect(listeners.all(upTo: 0).isEmpty)
  }

  @Test("are removed in any order, many of them") func many() {
    var listeners = Listeners<Int>()
    let numbers = (0..<10_000).map { listeners.add($0) }
    for index in stride(from: 0, to: 10_000, by: 2) { listeners.remove(numbers[index]) }
    #expect(listeners.all == Array(stride(from: 1, to: 10_000, by: 2)))
    for number in numbers.reversed() { listeners.remove(number) }
    #expect(listeners.all.isEmpty)
  }
}
