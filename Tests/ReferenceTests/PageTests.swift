import EventLoop
import Reference
import TestSupport
import TestTraits
import Testing

@Suite("Pages of the reference", .tags(.help)) struct PageTests {
  private let reference: Reference

  init() throws { reference = try MetaTests.reference() }

  /// All pages, by their names.
  private func pages(width: Int) -> [(String, [String])] {
    let entries: [ReferenceEntry] =
      reference.modules.map { .module($0) } + reference.topics.map { .topic($0) }
      + reference.functions.map { .function($0) } + reference.classes.map { .type($0) }
      + reference.values.map { .value($0) } + reference.aliases.map { .alias($0) }
      + reference.codes.map { .code($0) }
    return entries.map { ($0.name, reference.page(of: $0, width: width)) }
      + [
        ("overview", reference.overview(width: width)),
        ("search", reference.page(about: "volume", width: width) ?? []),
      ]
  }

  @Test("fit the terminal, but for code and single words", arguments: [40, 80]) func width(columns: Int) {
    for (name, lines) in pages(width: columns) {
      for line in lines where line.count > columns && !code.contains(String(line.dropFirst(2))) {
        #expect(
          line.split(separator: " ").count == 1 || line.contains("[, ") && line.hasSuffix(")"),
          "\(name): \(line)")
      }
      #expect(!lines.contains { $0.hasSuffix(" ") }, "\(name)")
    }
  }

  @Test("have no code that a terminal of 80 columns would break") func code80() {
    for line in code { #expect(line.count <= 78, "\(line)") }
  }

  private var code: Set<String> {
    Set(
      (reference.modules + reference.topics).flatMap(\.text).compactMap(\.code).flatMap { $0 }
        + reference.functions.compactMap(\.example).flatMap { $0 })
  }

  @Test("show an example that calls the function, for most functions") func examples() {
    let shown = reference.functions.filter { reference.example(of: $0) != nil }
    #expect(shown.count >= 60)
  }

  @Test("find names in any form that people write") func names() {
    for name in [
      "speaker", "globals", "speaker.play", "speaker.Session:pause", "speaker.Session.pause", "Session:pause",
      "Session", "Error", "speaker.MAX_VOLUME", "speaker.Role", "speaker.outranked", "os.exit",
      "stream.effect.gain",
    ] {
      #expect(reference.entry(name) != nil, "\(name)")
    }
    for name in ["", "play", "speaker.", "speaker:play:x", "session"] {
      #expect(reference.entry(name) == nil, "\(name)")
    }
    #expect(reference.suggestion(for: "speeker.play") == "speaker.play")
    #expect(reference.search("").isEmpty)
    #expect(reference.search("VOLUME").first?.name.hasSuffix("volume") == true)
    #expect(reference.page(about: "qqqqq", width: 80) == nil)
  }

  @Test(
    "lead from words that nothing is called to what is near",
    arguments: [
      ("iot", "mqtt"), ("rotary", "remote"), ("alexa", "trigger"), ("podcast", "stream"),
      ("crossfade", "fade"), ("microphone", "announce"), ("TTS", "announce"), ("bluetooth", "headset"),
      ("podcasts", "recorder"),
    ])
  func near(_ word: String, _ module: String) throws {
    let page = try #require(reference.page(about: word, width: 80))
    #expect(page.first == "Nothing is called \"\(word)\"; near it")
    #expect(page.contains { $0.hasPrefix("  \(module) ") }, "\(page)")
  }

  @Test("search for several words together, and say when no entry has all") func severalWords() throws {
    #expect(reference.search("sleep timer").first?.name == "sleep_timer")
    let both = reference.search("volume fade").map(\.name)
    #expect(both.starts(with: ["fade", "fade.volume"]) && both.count < reference.search("volume").count)
    #expect(reference.page(about: "volume  fade", width: 80)?.first == "Found for \"volume  fade\"")
    let part = try #require(reference.page(about: "volume qqqqq", width: 80))
    #expect(part.first == "Nothing has all of \"volume qqqqq\"; found for a part")
    #expect(reference.page(about: "qqqqq xyzzy", width: 80) == nil)
  }

  @Test("have further words for each module and topic, in lower case, none twice") func furtherWords() {
    for module in reference.modules + reference.topics {
      #expect(!module.words.isEmpty, "\(module.name)")
      #expect(Set(module.words).count == module.words.count, "\(module.name)")
    }
  }
}
