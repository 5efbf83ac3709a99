import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite("Keys of a terminal", .tags(.playback, .command)) struct PlayKeyTests {
  private func parse(_ text: String) -> [PlayKey] {
    var parser = PlayKeyParser()
    return parser.parse(text.utf8)
  }

  @Test(
    "letters and signs, and cursor keys in both modes",
    arguments: [
      (" ", [PlayKey.pause]), ("nN", [.next, .next]), ("pP", [.previous, .previous]), ("qQ", [.quit, .quit]),
      ("+=-", [.louder, .louder, .quieter]),
      ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", [.louder, .quieter, .forward, .back]),
      ("\u{1B}OA\u{1B}OD", [.louder, .back]), ("\u{1A}", [.suspend]),
    ])
  func keys(text: String, keys: [PlayKey]) { #expect(parse(text) == keys) }

  @Test("what has no meaning is left out, and swallows no key behind it")
  func unknown() {
    // A lone escape, page up, F5, a letter of two bytes.
    #expect(parse("\u{1B}n") == [.next])
    #expect(parse("\u{1B}[5~n\u{1B}[15~pxä q") == [.next, .previous, .pause, .quit])
    #expect(parse("\u{1B}\u{1B}[C") == [.forward])
  }

  @Test("a sequence may come byte by byte")
  func parts() {
    var parser = PlayKeyParser()
    #expect("\u{1B}[1;5Dn".utf8.flatMap { parser.parse([$0]) } == [.back, .next])
  }
}
