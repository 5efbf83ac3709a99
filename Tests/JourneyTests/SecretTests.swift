import TestSupport
import TestTraits
import Testing

/// Texts from outside in the output of commands.
@Suite("secrets and control characters in what is printed", .waiting, .tags(.error, .hostile))
struct SecretTests {
  @Test("no error about a station has the query of its URL, and neither has the text of a stream")
  func query() throws {
    let home = try Home()
    let url = "http://bob:sesame@127.0.0.1:1/live?token=sesame"
    try home.script(
      """
      local stream = require "stream"
      local s = stream.new(arg[1])
      print(s, s.url)
      print(pcall(stream.new, "gopher://h/x?token=sesame"))
      s:start()
      """)
    let commands = [
      ["play", url, "--output", "null"], ["record", url, "-o", "a.mp3", "--for", "1s"],
      ["run", "routine.lua", url], ["play", "http:///x?token=sesame", "--output", "null"],
    ]
    for words in commands {
      let outcome = try home.start(words).finish()
      #expect(outcome.status != 0 && !outcome.errors.contains("sesame"), "\(words): \(outcome)")
      guard words[0] == "run" else { continue }
      #expect(outcome.output.contains("http://127.0.0.1:1/live?…"), "\(outcome)")
      let first = outcome.lines.first?.split(separator: "\t") ?? []
      #expect(first.first?.contains("sesame") == false, "\(outcome)")
      #expect(first.last == "http://127.0.0.1:1/live?token=sesame", "the field is a value for the script")
      #expect(outcome.lines.dropFirst().allSatisfy { !$0.contains("sesame") }, "\(outcome)")
    }
  }

  @Test(
    "a simulation has names, titles and errors on one line, without what moves a cursor or turns a line around"
  )
  func simulation() throws {
    let home = try Home()
    try home.tune(frames: 48_000 * 2)
    try home.script(
      """
      local speaker, task, log = require "speaker", require "task", require "log"
      local kitchen = speaker.device "Kitchen"
      kitchen:set_name "Kü\\u{202E}che"
      speaker.play("tu\\u{202E}ne\\27[2J\\n.wav", { rooms = kitchen })
      log.warn "away\\27[2J\\nwith it"
      task.spawn(function() error "no\\27[31m\\nbread\\u{202E}" end)
      task.sleep "3s"
      """)
    let link = "ln -s tune.wav \"$(printf 'tu\\342\\200\\256ne\\033[2J\\n.wav')\""
    let outcome = try home.runInShell(link + " && \"$ROOMTONE\" simulate routine.lua --for 1m --why")
    #expect(outcome.status == 1, "\(outcome)")
    for text in [outcome.output, outcome.errors] {
      #expect(!text.contains("\u{1B}") && !text.unicodeScalars.contains("\u{202E}"), "\(outcome)")
    }
    #expect(outcome.output.contains("\\u{202e}") && outcome.output.contains("\\x1b"), "\(outcome)")
    #expect(!outcome.lines.contains { $0.hasPrefix("with it") || $0.hasPrefix("bread") }, "\(outcome)")
  }
}
