import EventLoop
import Testing

@Suite("Text from outside") struct TextTests {
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
}
