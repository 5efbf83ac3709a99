internal import Glibc
internal import TestSupport

/// A thousand stations recorded by one `roomtone`, beside `streamripper` and `curl`, one process of each for
/// each of twenty; all listen to the same broadcaster over the same seconds.
enum RecordingBench {
  private static let stations = 1_000
  private static let peers = 20
  /// Seconds until the bursts have ended and all record.
  private static let warmUp = 20.0
  private static let seconds = 20.0

  static func run() throws -> [Figure] {
    let folder = try TemporaryFolder()
    let broadcast = try BroadcastProcess(in: folder.path)
    let ripper = MeasuredProcesses("streamripper")
    let curl = MeasuredProcesses("curl")
    for number in 0..<peers {
      let (url, place) = ("\(broadcast.url)\(stations + number)", folder.file("streamripper-\(number)"))
      try ripper.start([url, "-d", place, "--quiet"])
      try curl.start(["-s", "-o", folder.file("curl-\(number)"), url])
    }
    let ours = MeasuredProcesses("\(StartBench.executableFolder())/roomtone")
    let script = try folder.write(
      Array(self.script(broadcast, folder.file("roomtone")).utf8), to: "script.lua")
    // A catalogue of its own, apart from the user's.
    let state = getenv("XDG_STATE_HOME").map { String(cString: $0) }
    setenv("XDG_STATE_HOME", folder.file("state"), 1)
    try ours.start(["run", "--output", "null", script])
    if let state { setenv("XDG_STATE_HOME", state, 1) } else { unsetenv("XDG_STATE_HOME") }
    usleep(UInt32(warmUp * 1e6))
    let all = [ours, ripper, curl]
    let (start, before) = (Bench.now(), try all.map { try $0.workTime() })
    let server = try broadcast.workTime()
    usleep(UInt32(seconds * 1e6))
    let (time, after) = (Bench.now() - start, try all.map { try $0.workTime() })
    let load = (try broadcast.workTime() - server) / time
    let cost = zip(all, zip(before, after)).map { process, work in
      (work.1 - work.0) / time / Double(process === ours ? stations : peers) * 1e6
    }
    let memory = try all.map { process in
      let (share, resident) = try process.memory()
      let count = 1024 * (process === ours ? stations : peers)
      return (share: Double(share) / Double(count), resident: Double(resident) / Double(count))
    }
    try checkFiles(in: folder.file("roomtone"), seconds: warmUp + seconds)
    return []
      + figure("CPU", cost, "us/s", 0.25)
      + figure("memory (PSS)", memory.map(\.share), "KiB", 0.1)
      + figure("memory (RSS)", memory.map(\.resident), "KiB", 0.1)
      + [
        Figure(
          name: "broadcaster of the recordings", value: load * 100, unit: "% of a core", against: "",
          goal: "none", isReached: true)
      ]
  }

  /// Returns the cost of a station here, relative to its cost with each peer.
  private static func figure(_ what: String, _ values: [Double], _ unit: String, _ goal: Double) -> [Figure] {
    zip(["streamripper", "curl"], values.dropFirst()).map { peer, value in
      Figure(
        name: "recording \(stations) stations, \(what) each, beside \(peer)", value: values[0] / value,
        unit: "x (\(Bench.rounded(values[0])) \(unit))", against: "\(peer): \(Bench.rounded(value)) \(unit)",
        goal: "<= \(goal) x", isReached: values[0] <= goal * value)
    }
  }

  private static func script(_ broadcast: BroadcastProcess, _ folder: String) -> String {
    """
    local stream, task = require "stream", require "task"
    for number = 1, \(stations) do
      task.spawn(function()
        stream.new("\(broadcast.url)" .. number):record("\(folder)/" .. number .. ".mp3")
      end)
    end
    """
  }

  /// - Throws: `StartBench.Failed` when a station has no file, or one with less than half of the bytes of
  ///   that time.
  private static func checkFiles(in folder: String, seconds: Double) throws {
    let least = (seconds / 2) * Double(Broadcast.bytesPerSecond)
    for number in 1...stations {
      var info = stat()
      let path = "\(folder)/\(number).mp3.part"
      guard stat(path, &info) == 0, Double(info.st_size) >= least else {
        throw StartBench.Failed(message: "\(path) has \(info.st_size) bytes, fewer than \(Int(least))")
      }
    }
  }
}
