internal import Glibc

/// A measured figure and its reference.
struct Figure {
  let name: String
  /// Median of the runs.
  let value: Double
  let unit: String
  /// The reference in words: a peer's figure of the same run, or a condition.
  let against: String
  let goal: String
  let isReached: Bool
}

/// `roomtone-bench [--json] [NAME…]`: measures, and prints a table or JSON. The exit status is independent of
/// the figures.
enum Bench {
  private static let benchmarks: [(name: String, run: @Sendable () throws -> [Figure])] = [
    ("start", StartBench.run), ("prompt", PromptBench.run), ("calls", CallBench.run),
    ("events", EventBench.run),
    ("timers", TimerBench.run),
    ("decoding", DecodingBench.run), ("framing", FramingBench.run), ("house", HouseBench.run),
    ("streams", StreamBench.run), ("recordings", RecordingBench.run), ("simulation", SimulationBench.run),
    ("causes", CauseBench.run),
    ("headset", HeadsetBench.run),
  ]

  static func main(_ arguments: [String]) -> Int32 {
    if arguments.count == 2, arguments[0] == "--broadcast" {
      do { try Broadcast.run(portFile: arguments[1]) } catch { print(error) }
      return 1
    }
    let json = arguments.contains("--json")
    let names = arguments.filter { !$0.hasPrefix("-") }
    if let wrong = names.first(where: { name in !benchmarks.contains { $0.name == name } })
      ?? arguments.first(where: { $0.hasPrefix("-") && $0 != "--json" })
    {
      print(
        "usage: roomtone-bench [--json] [\(benchmarks.map(\.name).joined(separator: "|")) …]; not \(wrong)")
      return 2
    }
    var figures: [Figure] = []
    for benchmark in benchmarks where names.isEmpty || names.contains(benchmark.name) {
      do { figures += try benchmark.run() } catch { print("\(benchmark.name): \(error)") }
    }
    print(json ? self.json(figures) : table(figures))
    return 0
  }

  /// Returns the median of an odd number of measurements.
  static func median(of runs: Int = 5, _ measure: () throws -> Double) rethrows -> Double {
    let values = try (0..<runs).map { _ in try measure() }.sorted()
    return values[values.count / 2]
  }

  /// Returns the seconds of the monotonic clock.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Returns the processor time of the calling thread in seconds.
  static func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static func rounded(_ value: Double) -> String {
    let digits = value < 10 ? 100.0 : value < 100 ? 10 : 1
    let rounded = (value * digits).rounded() / digits
    return digits == 1 ? "\(Int(rounded))" : "\(rounded)"
  }

  private static func table(_ figures: [Figure]) -> String {
    let rows =
      [["figure", "measured", "against", "goal", ""]]
      + figures.map {
        [$0.name, "\(rounded($0.value)) \($0.unit)", $0.against, $0.goal, $0.isReached ? "ok" : "missed"]
      }
    let widths = (0..<5).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (cell, width) in zip(row, widths) {
        line += cell + String(repeating: " ", count: width - cell.count + 2)
      }
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }

  private static func json(_ figures: [Figure]) -> String {
    "[\n"
      + figures.map {
        "  {\"figure\": \"\($0.name)\", \"value\": \($0.value), \"unit\": \"\($0.unit)\", \"against\": \"\($0.against)\", "
          + "\"goal\": \"\($0.goal)\", \"reached\": \($0.isReached)}"
      }.joined(separator: ",\n") + "\n]"
  }
}
