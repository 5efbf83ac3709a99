import TestTraits
import Testing

@testable import EventLoop

@Suite("A queue with numbers", .tags(.loop)) struct NumberedQueueTests {
  @Test("returns the oldest element that was not removed") func order() {
    var queue = NumberedQueue<String>()
    let numbers = ["a", "b", "c", "d"].map { queue.append($0) }
    #expect(queue.first == "a")
    queue.remove(numbers[1])
    queue.first = nil
    #expect(queue.first == "c" && !queue.isEmpty)
    queue.first = "e"
    queue.remove(numbers[1])
    #expect(queue.first == "e")
    queue.remove(numbers[2])
    #expect(queue.first == "d")
    queue.first = nil
    #expect(queue.isEmpty && queue.first == nil)
    queue.first = "nobody's"
    #expect(queue.isEmpty)
    _ = queue.append("f")
    _ = queue.append("g")
    #expect(queue.first == "f" && queue.removeAll() == ["f", "g"] && queue.isEmpty)
  }
}
