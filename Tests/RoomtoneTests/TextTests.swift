import LuaRuntime
import TestSupport
import TestTraits
import Testing

@Suite("texts from scripts", .waiting, .tags(.error, .hostile))
struct TextTests {
  @Test("have greatest lengths, which the errors name")
  func lengths() throws {
    let lines = try EngineHarness.printed(
      """
      local stream, recordings = require "stream", require "recordings"
      local function bytes(count) return ("x"):rep(count) end
      local function try(f, ...) print((message(f, ...):gsub(".*%(", ""):gsub("%)$", ""))) end
      try(stream.new, "http://radio.example/" .. bytes(8192))
      try(stream.new, "http://radio.example/", { user_agent = bytes(8193) })
      try(stream.new, "http://radio.example/", { auth = { "me", bytes(8193) } })
      local radio = stream.new("http://radio.example/", { user_agent = bytes(8192) })
      try(radio.set_user_agent, radio, bytes(10000))
      try(radio.set_auth, radio, "me", bytes(10000))
      try(radio.set_url, radio, bytes(10000))
      try(radio.on, radio, bytes(256), print)
      try(schedule.at, "06:45", { name = bytes(256) }, print)
      try(speaker.session, { name = bytes(256) })
      try(stream.file, bytes(4096))
      print(code(speaker.session, { name = bytes(255), devices = {} }))
      """)
    #expect(
      lines == [
        "at most 8192 bytes expected, got 8213", "option 'user_agent': at most 8192 bytes expected, got 8193",
        "option 'auth': at most 8192 bytes expected, got 8193", "at most 8192 bytes expected, got 10000",
        "at most 8192 bytes expected, got 10000", "at most 8192 bytes expected, got 10000",
        "at most 255 bytes expected, got 256", "option 'name': at most 255 bytes expected, got 256",
        "option 'name': at most 255 bytes expected, got 256", "at most 4095 bytes expected, got 4096", "none",
      ])
  }

  @Test("are UTF-8, and the error names the first byte that is not")
  func encoding() throws {
    let lines = try EngineHarness.printed(
      """
      local stream = require "stream"
      print(message(stream.new, "http://caf\\xe9.example/"))
      print(message(speaker.device, "caf\\xe9"))
      print(message(schedule.at, "06:45", { name = "\\xff" }, print))
      print(message(speaker.play_stream, "http://caf\\xe9.example/"))
      print(message(stream.file, "\\xe4.wav"))
      print(message(require "task".exec, { "echo", "\\xff" }))
      -- What is only shown may be anything.
      print "caf\\xe9"
      log.info "caf\\xe9"
      """)
    let wrong = "text in UTF-8 expected, got byte 0x"
    #expect(
      lines == [
        "bad argument #1 to 'new' (\(wrong)e9 at 11)", "bad argument #1 to 'device' (\(wrong)e9 at 4)",
        "bad argument #2 to 'at' (option 'name': \(wrong)ff at 1)",
        "bad argument #1 to 'play_stream' (\(wrong)e9 at 11)", "bad argument #1 to 'file' (\(wrong)e4 at 1)",
        "bad argument #1 to 'exec' (element 2: text in UTF-8 without zero bytes expected, got a string that is not UTF-8)",
        "caf\u{FFFD}",
      ])
  }

  @Test("are no paths when a zero byte is in them")
  func zeroBytes() throws {
    let lines = try EngineHarness.printed(
      """
      local stream, recordings = require "stream", require "recordings"
      local radio = stream.new "http://radio.example/"
      for _, f in ipairs {
        stream.file, recordings.verify, recordings.forget, speaker.play, speaker.device, io.popen, os.execute,
      } do
        print((message(f, "tone.wav\0"):gsub(".*%(", "")))
      end
      print((message(radio.record, radio, "a\0b"):gsub(".*%(", "")))
      print((message(os.getenv, "HOME\0x"):gsub(".*%(", "")))
      print((code(require, "stream\0"):gsub(".*%(", "")))
      """)
    #expect(
      lines.filter { $0 == "contains a zero byte)" || $0 == "the name contains a zero byte)" }.count >= 8)
    #expect(lines.count == 10, "\(lines)")
  }

  @Test("as names of speakers in the configuration are checked as set_name checks them")
  func configuredNames() throws {
    for (name, problem) in [
      ("\" \"", "is blank"), ("\"a\\nb\"", "has a control character in it"),
      ("\"\(String(repeating: "x", count: 101))\"", "has more than 100 letters or 255 bytes"),
    ] {
      var harness = try EngineHarness()
      harness.configuration = "house { output = 'null', speakers = { { name = \(name) } } }"
      let error = #expect(throws: LuaError.self) { try harness.run("") }
      #expect(
        error?.description.contains("option 'name' of speakers[1]: it \(problem)") == true, "\(error as Any)")
    }
  }
}
