import LuaRuntime
import Reference
import TestTraits
import Testing

@testable import Roomtone

@Suite("Completion", .tags(.prompt, .completion)) struct CompletionTests {
  /// A house with names of all kinds, without a prompt.
  private struct Names: CompletionNames {
    var globals = [
      "speaker", "stream", "schedule", "headset", "kitchen", "radio", "print", "player", "greeting",
    ]
    var speakers = ["Kitchen", "Living Room Left", "Living Room Right", "Müller's \"den\"", "居間"]
    var groups = ["Kitchen", "Living Room"]
    var stations = ["morning", "night"]
    var presets = ["flat", "rock", "train"]
    var modules = ["alarm", "announce", "eq"]

    func members(at path: [String]) -> LuaMembers? {
      var found = LuaMembers()
      switch path {
      case ["speaker"]: found.fields = ["device", "devices", "play", "set_volume", "session", "MAX_VOLUME"]
      case ["kitchen"]:
        found.className = "speaker"
        found.fields = ["name", "volume"]
        found.methods = ["join", "leave", "on", "set_volume"]
      case ["radio"]:
        found.className = "stream"
        found.methods = ["record", "on"]
      case ["player"]: found.fields = ["state", "stop"]
      default: return nil
      }
      return found
    }
    func members(ofClass name: String) -> LuaMembers? { nil }
    func files(_ start: String) -> [String] {
      ["music.mp3", "music/", "notes.txt"].filter { $0.hasPrefix(start) }
    }
  }

  private static let reference = StandardLibrary.reference(in: nil)

  private func complete(_ text: String) -> (word: String, candidates: [String]) {
    let completer = Completer(names: Names(), reference: Self.reference)
    guard let found = completer.complete(text, cursor: text.unicodeScalars.count) else { return ("", []) }
    return (String(String.UnicodeScalarView(text.unicodeScalars.dropFirst(found.start))), found.candidates)
  }

  private func candidates(_ text: String) -> [String] { complete(text).candidates }

  @Test(
    "globals and keywords",
    arguments: [
      ("spe", ["speaker"]), ("x = s", ["schedule", "speaker", "stream"]), ("re", ["repeat", "return"]),
      ("local room = 1 print(ro", ["room"]), ("speaker.play(kit", ["kitchen"]), ("f(1, gree", ["greeting"]),
      ("a-- spe", []), ("--[[ spe", []), ("[[ spe", []), ("0x", []), ("\"a\" .. spe", ["speaker"]),
      ("kitchen .. spe", ["speaker"]), ("#spe", ["speaker"]), ("'a\nspe", ["speaker"]), ("Mü", []),
    ])
  func globals(text: String, expected: [String]) { #expect(candidates(text) == expected) }

  @Test(
    "fields of modules, fields of objects behind a point and methods behind a colon",
    arguments: [
      ("speaker.dev", ["device", "devices"]), ("speaker.MAX", ["MAX_VOLUME"]), ("kitchen.vo", ["volume"]),
      ("kitchen.set", []),
      ("kitchen:set", ["set_balance", "set_group", "set_name", "set_role", "set_volume"]),
      ("print(kitchen:jo", ["join"]), ("player.s", ["state", "stop"]), ("kitchen:vol", []),
    ])
  func members(text: String, expected: [String]) { #expect(candidates(text) == expected) }

  @Test(
    "what calls return, also in a variable of the same block",
    arguments: [
      ("speaker.device(\"Kitchen\"):joi", ["join"]), ("speaker.device 'Kitchen':joi", ["join"]),
      ("local k = speaker.device(\"Kitchen\")\nk:joi", ["join"]), ("speaker.devices()[1]:joi", ["join"]),
      ("speaker.session{ name = \"x\" }:fad", ["fade"]), ("kitchen.group:joi", ["join"]),
      ("local r = stream.new('x') r:reco", ["record"]),
    ])
  func returned(text: String, expected: [String]) { #expect(candidates(text) == expected) }

  @Test(
    "options in the table of a call, without those that are there",
    arguments: [
      ("speaker.session { na", ["name = "]), ("speaker.session({ dev", ["devices = "]),
      ("speaker.session { name = 'x', ", ["devices = ", "priority = "]),
      ("speaker.play('x', { loo", ["loop = "]),
      ("local s = speaker.session { pri", ["priority = "]),
      ("radio:record('x', { spl", ["split = "]), ("speaker.session { name = pri", ["print"]),
    ])
  func options(text: String, expected: [String]) { #expect(candidates(text) == expected) }

  @Test(
    "events in on, once and wait",
    arguments: [
      ("speaker.on(\"vol", ["volume\""]), ("speaker.wait 'en", ["ended'"]), ("kitchen:on('sta", ["state'"]),
      ("radio:once(\"metadata_", ["metadata_realtime\""]), ("speaker.device 'Kitchen':on('vo", ["volume'"]),
      ("headset.on(\"batt", ["battery\""]),
    ])
  func events(text: String, expected: [String]) { #expect(candidates(text) == expected) }

  @Test(
    "names in texts, by the call that they stand in",
    arguments: [
      ("speaker.device(\"Kit", ["Kitchen\""]), ("speaker.find 'kit", ["Kitchen'"]),
      ("speaker.device('liv", ["Living Room Left'", "Living Room Right'"]),
      ("speaker.group('Li", ["Living Room'"]),
      ("speaker.device('right", ["Living Room Right'"]), ("speaker.device(\"Mü", ["Müller's \\\"den\\\"\""]),
      ("speaker.device('Mü", ["Müller\\'s \"den\"'"]), ("speaker.device('居", ["居間'"]),
      (
        "speaker.session { devices = { 'Kitchen', 'Liv",
        ["Living Room'", "Living Room Left'", "Living Room Right'"]
      ),
      ("kitchen:set_role('le", ["left'"]), ("speaker.set_eq 'ro", ["rock'"]), ("eq.apply(x, 'tr", ["train'"]),
      ("stream.new('mor", ["morning'"]), ("io.open('mus", ["music.mp3'", "music/"]),
      ("speaker.play('no", ["notes.txt'"]), ("require 'al", ["alarm'"]), ("print('Kit", []),
      ("speaker.interrupt { play = 'no", ["notes.txt'"]),
    ])
  func texts(text: String, expected: [String]) { #expect(candidates(text) == expected) }

  @Test("the range that is replaced begins at the word, in scalars")
  func range() {
    #expect(complete("x = spe").word == "spe")
    #expect(complete("speaker.device('居").word == "居")
    #expect(complete("f('e\u{301}') speaker.dev").word == "dev")
    #expect(complete("speaker.device(\"Mü").word == "Mü")
  }

  @Test("text behind the cursor changes nothing")
  func cursor() {
    let completer = Completer(names: Names(), reference: Self.reference)
    #expect(completer.complete("spe + 1", cursor: 3)?.candidates == ["speaker"])
  }

  @Test("any beginning of a script can be completed")
  func robust() throws {
    let text =
      "local k <close> = f{[1]=2,a={b='x'}}[3]:on(\"e\",function(a,b) return a==b end) ::l:: goto l -- c\n[==[x]]"
    let completer = Completer(names: Names(), reference: Self.reference)
    for cursor in 0...text.count { _ = completer.complete(text, cursor: cursor) }
    _ = completer.complete(")]}=:.,(", cursor: 8)
  }
}
