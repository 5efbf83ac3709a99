import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("memory that the host has for a script", .waiting, .tags(.limits)) struct MemoryTests {
  /// The factor of the limits: a sanitizer keeps what is free, and more beside each block.
  static let slack =
    ["__tsan_init", "__asan_init"].contains { (name: String) in dlsym(nil, name) != nil } ? 8 : 1

  /// The peak of the process in megabytes, and the results of calls by their codes.
  private static let prelude =
    """
    local speaker, stream, task = require "speaker", require "stream", require "task"
    local codes = {}
    local function count(call, ...)
      local _, err = task.try(call, ...)
      local code = err and err.code or "none"
      codes[code] = (codes[code] or 0) + 1
    end
    local function peak()
      for line in io.lines "/proc/self/status" do
        local kilobytes = line:match "^VmHWM:%s*(%d+)"
        if kilobytes then return kilobytes // 1024 end
      end
    end

    """

  /// Runs a script beside a tune of five seconds.
  /// - Returns: the words of its last line.
  private func words(_ text: String, configuration: String = "") throws -> [String] {
    let home = try Home()
    try home.tune(frames: 240_000)
    try home.write(Array("house { output = 'null' } \(configuration)".utf8), to: "config.lua")
    let script = try home.script(Self.prelude + text)
    let outcome = try home.run("run", "--config=config.lua", script)
    #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
    return (outcome.lines.last ?? "").split(separator: "\t").map(String.init)
  }

  @Test(
    "a thousand calls that open a file at one time have the memory of a few",
    arguments: [
      ("count(speaker.play, 'tune.wav')", "speaker.superseded"),
      ("count(speaker.interrupt, { play = 'tune.wav', devices = { room } })", "speaker.no_stream"),
      ("count(speaker.interrupt, { play = { 'tune.wav' }, devices = { room } })", "speaker.no_stream"),
    ])
  func openings(call: String, refusal: String) throws {
    let words = try words(
      """
      speaker.open { add_all = true }
      local room = speaker.devices()[1]
      for _ = 1, 1000 do
        task.spawn(function() \(call) end)
      end
      repeat task.sleep "20ms" until (codes["\(refusal)"] or 0) >= 950
      print(codes["\(refusal)"], peak())
      os.exit(0)
      """)
    #expect(words.first.flatMap { Int($0) }.map { (950..<1000).contains($0) } == true, "\(words)")
    // Each has about a megabyte while it is opened.
    #expect(words.last.flatMap { Int($0) }.map { $0 < 300 * Self.slack } == true, "\(words)")
  }

  @Test("files that play to nobody have the sound just ahead, however much of them was heard")
  func files() throws {
    let words = try words(
      """
      for _ = 1, 200 do
        local file = stream.file "tune.wav"
        task.spawn(function()
          count(file.start, file)
          file:wait("file_complete", 60)
          codes.complete = (codes.complete or 0) + 1
        end)
      end
      repeat task.sleep "50ms" until codes.complete == 200
      print(codes.none, peak())
      """)
    #expect(
      words.first == "200" && words.last.flatMap { Int($0) }.map { $0 < 250 * Self.slack } == true, "\(words)"
    )
  }

  @Test("the memory limit of a script counts the files that it plays; a file that stops makes room")
  func limit() throws {
    let words = try words(
      """
      local files = {}
      repeat
        local file = stream.file "tune.wav"
        task.spawn(function() task.try(file.start, file) end)
        task.sleep "10ms"
        files[#files + 1] = file
      until file.status == "stopped" or #files == 100
      local _, err = task.try(function() stream.file("tune.wav"):start() end)
      files[1]:stop()
      local _, after = task.try(function() stream.file("tune.wav"):start() end)
      print(err and err.code, err and err.limit, after and after.code, #files)
      os.exit(0)
      """, configuration: "limits { memory = 16 }")
    #expect(words.prefix(3) == ["script.memory", "\(16 << 20)", "nil"], "\(words)")
    #expect(words.last.flatMap { Int($0) }.map { (20..<40).contains($0) } == true, "\(words)")
  }
}
