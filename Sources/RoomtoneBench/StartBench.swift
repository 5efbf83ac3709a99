internal import Glibc

/// `roomtone run` of an empty script, as a whole process, beside `lua5.4`.
enum StartBench {
  static func run() throws -> [Figure] {
    let folder = executableFolder()
    let ours = try sample("\(folder)/roomtone", ["run", "--output", "null", "/dev/null"])
    let peer = try? sample("/usr/bin/lua5.4", ["/dev/null"])
    let against = peer.map { "lua5.4: \(Bench.rounded($0.milliseconds)) ms" } ?? "lua5.4 is not installed"
    return [
      Figure(
        name: "start", value: ours.milliseconds, unit: "ms", against: against, goal: "<= 20 ms",
        isReached: ours.milliseconds <= 20),
      Figure(
        name: "start, memory", value: ours.megabytes, unit: "MB", against: "", goal: "<= 30 MB",
        isReached: ours.megabytes <= 30),
    ]
  }

  static func executableFolder() -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = max(0, readlink("/proc/self/exe", &buffer, buffer.count - 1))
    let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }

  struct Failed: Error { let message: String }

  /// Returns the medians of 21 runs: wall time and peak memory.
  private static func sample(
    _ program: String, _ arguments: [String]
  ) throws -> (milliseconds: Double, megabytes: Double) {
    let runs = try (0..<21).map { _ in try once(program, arguments) }
    return (
      runs.map(\.0).sorted()[10], runs.map(\.1).sorted()[10]
    )
  }

  private static func once(_ program: String, _ arguments: [String]) throws -> (
    Double, Double
  ) {
    let words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { (word: String) in strdup(word) }
    let variables = ["PATH=/usr/bin:/bin", "HOME=/nonexistent"]
    let environment: [UnsafeMutablePointer<CChar>?] = variables.map { (word: String) in strdup(word) }
    defer { for text in words + environment { free(text) } }
    var process = pid_t()
    let start = Bench.now()
    guard posix_spawn(&process, program, nil, nil, words + [nil], environment + [nil]) == 0 else {
      throw Failed(message: "can't start \(program)")
    }
    var (status, usage) = (Int32(0), rusage())
    while wait4(process, &status, 0, &usage) == -1 && errno == EINTR {}
    let time = Bench.now() - start
    guard status == 0 else { throw Failed(message: "\(program) ended with \(status)") }
    return (time * 1000, Double(usage.ru_maxrss) / 1024)
  }
}
