import TestTraits
import Testing

@testable import LuaSyntax

@Suite("Lua that may be cut anywhere", .tags(.check, .prompt)) struct LuaFragmentTests {
  private func words(_ text: String) -> [String] {
    LuaFragment(text).tokens.map { $0.text.isEmpty ? $0.kind.rawValue : $0.text }
  }

  @Test("has its tokens up to the one that the end cuts off") func tokens() {
    #expect(words("k:on('e', #a .. b) -- c") == ["k", ":", "on", "(", "e", ",", "#", "a", "..", "b", ")"])
    #expect(words("f(\"a") == ["f", "("])
    #expect(words("local x = [==[ ]=] ") == ["local", "x", "="])
    // A line that begins with a hash is no first line of a file.
    #expect(words("#a") == ["#", "a"])
  }

  @Test("reports the token in which it ends") func endings() {
    for (text, ending) in [
      ("", LuaFragment.Ending.token), ("a", .token), ("a ", .token), ("a.", .token), ("12", .token),
      ("a -- b", .comment), ("a -- b\n", .token), ("--[[ a", .comment), ("--[[ a ]]", .token),
      ("[[ a", .longString), ("[==", .longString), ("[[ a ]]", .token), ("0x", .unreadable),
      ("ü", .unreadable), ("x = 'a", .string(start: 4, contents: "a")),
      ("\"居", .string(start: 0, contents: "居")), ("'a\\", .string(start: 0, contents: "a\\")),
      ("'a\\'b", .string(start: 0, contents: "a'b")),
    ] { #expect(LuaFragment(text).ending == ending, "\(text)") }
  }

  @Test("goes on behind what is no Lua") func mistakes() {
    #expect(words("a = 1x b") == ["a", "=", "b"])
    #expect(words("a $ ü b") == ["a", "b"])
    #expect(words("'\\q' 'a\nb") == ["q", "a", "b"])
    #expect(words("'\\300' b") == ["300", "b"])
  }
}
