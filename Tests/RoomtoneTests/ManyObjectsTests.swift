import EventLoop
import TestSupport
import TestTraits
import Testing

/// The processor time of scripts that hold thousands of one thing, from their first line until nothing is left of them.
@Suite("a script that holds thousands of one thing", .waiting, .tags(.limits))
struct ManyObjectsTests {
  /// A thing that is held, by the Lua code that makes `count` of it.
  struct Kind: CustomTestStringConvertible {
    let testDescription: String
    let code: String

    init(_ name: String, _ code: String) { (testDescription, self.code) = (name, code) }
  }

  private static let tapped = "local s = stream.new \"http://radio.example/\" for i = 1, count do s:tap("

  static let kinds = [
    Kind("functions as taps", tapped + "function() end) end"),
    Kind("effects as taps", tapped + "stream.effect.mono()) end"),
    Kind("streams", "kept = {} for i = 1, count do kept[i] = stream.new \"http://radio.example/\" end"),
    Kind("listeners of the house", "for i = 1, count do speaker.on(\"volume\", function() end) end"),
    Kind(
      "listeners of a speaker",
      "local d = speaker.devices()[1] for i = 1, count do d:on(\"volume\", print) end"),
    Kind(
      "listeners of a stream",
      "local s = stream.new \"http://radio.example/\" for i = 1, count do s:on(\"metadata\", print) end"),
    Kind("listeners to a trigger", "for i = 1, count do trigger.on(\"bell\", print) end"),
    Kind("jobs", "for i = 1, count do schedule.every(\"1h\", print) end"),
    Kind("tasks that sleep", "for i = 1, count do task.spawn(task.sleep, \"1d\") end"),
    Kind("tasks that wait for the house", "for i = 1, count do task.spawn(speaker.wait, \"volume\") end"),
    Kind(
      "tasks that wait for a task",
      "local t = task.spawn(task.sleep, \"1d\") for i = 1, count do task.spawn(t.await, t) end"),
    Kind(
      "tasks that start a stream",
      """
      local s = stream.new("http://radio.example/", { buffer_wait = "1d" })
      for i = 1, count do task.spawn(s.start, s) end
      """),
  ]

  @Test("ends in a time that is proportional to their number", arguments: kinds)
  func proportional(kind: Kind) throws {
    func time(of count: Int) throws -> Double {
      let harness = try EngineHarness()
      return try processorTime {
        let lines = try harness.printed(
          """
          local stream, trigger, count = require "stream", require "trigger", \(count)
          speaker.open()
          \(kind.code)
          task.sleep(1)
          print "end"
          os.exit(0)
          """)
        #expect(lines == ["end"])
      }
    }
    _ = try time(of: 1)
    let (few, many) = (try time(of: 1500), try time(of: 6000))
    #expect(many < 8 * few + 0.2, "1500 took \(few) s, 6000 took \(many) s")
  }

  @Test("programs that run are ended in a time that is proportional to their number")
  func programs() throws {
    func time(of count: Int) throws -> Double {
      let harness = try EngineHarness(wall: true)
      return try processorTime {
        _ = try harness.printed(
          """
          for i = 1, \(count) do
            task.spawn(task.exec, { "sleep", "100" })
            if i % 20 == 0 then task.sleep(0) end
          end
          task.sleep(0.1)
          os.exit(0)
          """)
      }
    }
    let (few, many) = (try time(of: 100), try time(of: 400))
    #expect(many < 8 * few + 0.2, "100 took \(few) s, 400 took \(many) s")
  }

  @Test("holds of a loop, and elements of a queue, are removed in proportional time")
  func removals() {
    func removal(of count: Int) -> Double {
      var queue = NumberedQueue<Int>()
      let numbers = (0..<count).map { queue.append($0) }
      return processorTime { for number in numbers.reversed() { queue.remove(number) } }
    }
    func release(of count: Int) -> Double {
      let loop = EventLoop()
      let holds = (0..<count).map { _ in loop.hold("a test") }
      return processorTime { for hold in holds { hold.release() } }
    }
    for measure in [removal, release] {
      let (few, many) = (measure(5_000), measure(20_000))
      #expect(many < 8 * few + 0.1, "5,000 took \(few) s, 20,000 took \(many) s")
    }
  }
}
