import EventLoop
import TestTraits
import Testing

@Suite("Text from outside", .tags(.error, .hostile)) struct TextTests {
  @Test(
    "is kept without escape sequences, control characters, turned writing and blanks at its ends",
    arguments: [
      ("  Morning FM\r\n", "Morning FM"), ("\u{1B}[31;1mRed\u{1B}[0m", "Red"), ("\u{9B}2Jclear", "clear"),
      ("\u{1B}]0;title\u{7}text", "text"), ("\u{1B}]8;;http://x\u{1B}\\link\u{1B}]8;;\u{1B}\\", "link"),
      ("\u{1B}Pq#0\u{9C}sixel", "sixel"), ("a\u{1B}", "a"), ("\u{1B}[", "["), ("\u{1B}]open", "]open"),
      ("gpj.\u{202E}exe", "gpj.exe"), ("\u{2066}a\u{2069}b\u{202A}c\u{2028}d", "abcd"),
      ("Ça va – Ω 🎵", "Ça va – Ω 🎵"),
      ("א\u{200F}ב", "א\u{200F}ב"),
    ])
  func cleaned(text: String, kept: String) { #expect(text.cleaned == kept && kept.cleaned == kept) }

  @Test("shows what would move a terminal's text as Lua writes it") func onOneLine() {
    #expect("a\n\u{1B}[1m\u{202E}b\u{2029}".onOneLine == #"a\n\x1b[1m\u{202e}b\u{2029}"#)
  }

  @Test("is quoted on one line, and cut where it is long") func quotedText() {
    #expect(quoted("kitchen") == "\"kitchen\"")
    #expect(quoted("a\nb\u{9B}c") == "\"a?b?c\"")
    #expect(quoted(String(repeating: "x", count: 41)) == "\"" + String(repeating: "x", count: 40) + "…\"")
    #expect(quoted("kitchen", by: "'", atMost: 3) == "'kit…'")
  }

  @Test(
    "is as far from another as the edits between them",
    arguments: [
      ("", "", 0), ("", "abc", 3), ("kitchen", "kitchen", 0), ("kitchn", "kitchen", 1),
      ("ktichen", "kitchen", 1),
      ("bath", "both", 1), ("ca", "abc", 3), ("saturday", "sunday", 3),
    ])
  func distance(one: String, other: String, edits: Int) {
    #expect(editDistance(Array(one.utf8), Array(other.utf8)) == edits)
    #expect(editDistance(Array(other), Array(one)) == edits)
  }

  @Test("names the nearest of known names, unless none is near") func nearestName() {
    #expect(nearest("volum", among: ["balance", "volume", "value"]) == "volume")
    #expect(nearest("VOLUMR", among: ["volume"]) == "volume")
    #expect(nearest("xyz", among: ["volume"]) == nil)
    #expect(nearest(String(repeating: "a", count: 70), among: [String(repeating: "a", count: 71)]) == nil)
  }
}
