internal import TestSupport
internal import TestTraits
internal import Testing

/// A mistake that an edit makes in a script of the repository.
struct PlantedMistake: CustomTestStringConvertible {
  let script: String
  let text: String
  let edited: String
  /// A word of the complaint.
  let word: String

  init(_ script: String, _ text: String, _ edited: String, _ word: String) {
    (self.script, self.text, self.edited, self.word) = (script, text, edited, word)
  }

  var testDescription: String { "\(script): \(edited)" }
}

@Suite("Planted mistakes", .tags(.check)) struct PlantedMistakeTests {
  static let mistakes = [
    PlantedMistake("bedtime", "require \"sleep_timer\"", "require \"sleeptimer\"", "sleep_timer"),
    PlantedMistake("bedtime", "or \"Bedroom\"", "or \"Bedroom\", true", "1 argument"),
    PlantedMistake("bedtime", "ROOM:set_volume(VOLUME)", "ROOM:set_volum(VOLUME)", "set_volume"),
    PlantedMistake("bedtime", "local VOLUME = 12", "local VOLUME = 120; ROOM:set_volume(VOLUME)", "0 to 50"),
    PlantedMistake("bedtime", "follow.to { ROOM }", "follow.too { ROOM }", "'to'"),
    PlantedMistake("bedtime", "not speaker.is_playing() then", "not speaker.is_playing then", "call it"),
    PlantedMistake("bedtime", "speaker.play_stream(STATION)", "speaker.playstream(STATION)", "play_stream"),
    PlantedMistake("bedtime", "fade = fade,", "fade = \"5 min\",", "not a duration"),
    PlantedMistake("bedtime", ":wait \"done\"", ":wait \"finished\"", "done"),
    PlantedMistake("bedtime", "days = \"daily\"", "days = \"dayly\"", "day of the week"),
    PlantedMistake("doorbell", "rooms = speaker,", "room = speaker,", "rooms"),
    PlantedMistake("doorbell", "volume = VOLUME }", "volume = \"loud\" }", "whole number"),
    PlantedMistake("doorbell", "announce.play { CHIME", "announce.paly { CHIME", "play"),
    PlantedMistake("doorbell", "local schedule = require \"schedule\"\n", "", "require \"schedule\""),
    PlantedMistake("doorbell", "schedule.at(WHEN,", "schedule:at(WHEN,", "not a method"),
    PlantedMistake("doorbell", ", ring)", ", rang)", "rang"),
    PlantedMistake("eq_by_hour", "speaker.default_session()", "speaker.default_sesion()", "default_session"),
    PlantedMistake("eq_by_hour", "h.connected then", "h.conected then", "connected"),
    PlantedMistake("eq_by_hour", "{ fit = true }", "{ fits = true }", "fit"),
    PlantedMistake("eq_by_hour", "headset.on(\"connected\"", "headset.on(\"conected\"", "connected"),
    PlantedMistake(
      "eq_by_hour", "headset.auto_connect(true)", "headset.auto_connect(\"yes\")", "true or false"),
    PlantedMistake("eq_by_hour", "os.date \"%H:%M\" then", "os.dat \"%H:%M\" then", "date"),
    PlantedMistake("eq_by_hour", "for _, h in ipairs(", "for _, h in ipair(", "ipairs"),
    PlantedMistake("focus", "[125] = -2,", "[125] = -20,", "-12 to 12"),
    PlantedMistake("focus", "[8000] = 1", "[8100] = 1", "8000"),
    PlantedMistake("focus", "task.try(fn, ...)", "task.trie(fn, ...)", "try"),
    PlantedMistake("focus", "log.warn(", "log.warning(", "warn"),
    PlantedMistake("focus", "math.floor(max.left", "math.flor(max.left", "floor"),
    PlantedMistake("focus", "set(event.headset)", "set(event.hedset)", "headset"),
    PlantedMistake("focus", "eq.define(\"desk\", {", "eq.define({", "argument"),
    PlantedMistake("follow_me", "speaker.stop()", "speaker.stop(true)", "no arguments"),
    PlantedMistake("follow_me", "speaker.group(part.room)", "speaker.grop(part.room)", "group"),
    PlantedMistake("follow_me", "name = name }", "nam = name }", "name"),
    PlantedMistake("party", "fade = \"2s\"", "fade = \"2sec\"", "unit"),
    PlantedMistake(
      "party", "play = function(session)\n      session:play_stream",
      "play = function(session)\n      session:playstream", "play_stream"),
    PlantedMistake("party", "    play = function(session)", "    plays = function(session)", "play"),
    PlantedMistake("party", "days = \"fri\"", "days = \"friady\"", "day of the week"),
    PlantedMistake("party", "speaker.interrupt {", "speaker.interupt {", "interrupt"),
    PlantedMistake("party", "task.sleep(LENGTH)", "task.slep(LENGTH)", "sleep"),
    PlantedMistake("record_show", "cron = \"0 20 * * sat\"", "cron = \"0 24 * * sat\"", "hour"),
    PlantedMistake("record_show", "duration = \"2h\",", "", "duration"),
    PlantedMistake("record_show", "pad_before = \"2m\"", "pad_befor = \"2m\"", "pad_before"),
    PlantedMistake("record_show", "recording:on(\"finished\"", "recording:on(\"done\"", "finished"),
    PlantedMistake("record_show", "at = \"12:00\"", "at = \"12.00\"", "time of day"),
    PlantedMistake("record_show", "next_time = recording.next", "next_time = recording.nxt", "next"),
    PlantedMistake("saturday_show", "\"Living Room\"", "\"Livingroom\"", "Living Room"),
    PlantedMistake("saturday_show", "speaker.finish()", "speaker.finish(\"soon\")", "duration"),
    PlantedMistake("saturday_show", "start = \"2m\" }", "begin = \"2m\" }", "start"),
    PlantedMistake("saturday_show", "last.path", "last.pth", "path"),
    PlantedMistake("saturday_show", "os.time() - 24", "os.time - 24", "function"),
    PlantedMistake("update_headset", "{ on_progress = show }", "{ onprogress = show }", "on_progress"),
    PlantedMistake("update_headset", "h.firmware_version))", "h.firmwareversion))", "firmware_version"),
    PlantedMistake(
      "update_headset", "headset.connect { transport", "headset.connect { transports", "transport"),
    PlantedMistake("wake_up", "rooms = \"Bedroom\"", "rooms = \"Badroom\"", "Bedroom"),
    PlantedMistake("wake_up", "wake:on(\"ringing\"", "wake:on(\"ring\"", "ringing"),
    PlantedMistake("wake_up", "event.source)", "event.sourse)", "source"),
    PlantedMistake("wake_up", "event.source.title", "event.source.titel", "title"),
    PlantedMistake("wake_up", "add_all = false", "addall = false", "add_all"),
    PlantedMistake("wake_up", "over = \"12s\"", "over = \"12\"", "unit"),
    PlantedMistake("wake_up", "bedroom:leave()", "bedroom.leave()", "colon"),
    PlantedMistake("wake_up", "kitchen:join()", "kithcen:join()", "kitchen"),
    PlantedMistake("wake_up", "task.sleep \"2s\"", "task.sleep \"2\"", "unit"),
  ]

  @Test("each mistake is found, at its line", arguments: mistakes)
  func found(_ mistake: PlantedMistake) throws {
    let path = Fixtures.repository("scripts/\(mistake.script).lua")
    let script = String(decoding: try Command.succeed("cat", [path]).output, as: UTF8.self)
    let range = try #require(script.firstRange(of: mistake.text), "the script has changed")
    let edited = script.replacingCharacters(in: range, with: mistake.edited)
    let first = script[..<range.lowerBound].count { $0 == "\n" } + 1
    let last = first + mistake.edited.count { $0 == "\n" }
    let found = findings(edited)
    let isFound = found.contains { line in
      guard let number = Int(line.prefix { $0 != ":" }), line.contains(mistake.word) else { return false }
      // A missing option is reported at the table, a deleted local variable at its first use.
      return mistake.edited.isEmpty || (first...last).contains(number)
    }
    #expect(isFound, "\(found), line \(first)")
    #expect(findings(script).isEmpty)
  }

  @Test("there are at least fifty of them") func many() { #expect(Self.mistakes.count >= 50) }
}

extension String {
  fileprivate func replacingCharacters(in range: Range<String.Index>, with text: String) -> String {
    String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
  }
}
