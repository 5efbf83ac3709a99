internal import EventLoop
internal import Reference
internal import ScriptCheck
internal import TestSupport
internal import TestTraits
internal import Testing

@Suite("Mistakes made by machine", .tags(.check)) struct MeasuredMistakeTests {
  /// The number of mistakes of each class, half of them in scripts and specs, the others in calls of all definitions.
  private static let count = 50

  /// The example scripts and all specs.
  private static func scripts() throws -> [MistakeSource] {
    let folders = ["scripts", "stdlib/spec"].map { Fixtures.repository($0) }
    let found = try Command.succeed("find", folders + ["-name", "*.lua"])
    return try found.text.split(separator: "\n").map(String.init).sorted().map { path in
      let text = String(decoding: try Command.succeed("cat", [path]).output, as: UTF8.self)
      let name = String(path.split(separator: "/").last ?? "")
      return MistakeSource(name: name, text: text, reference: reference)
    }
  }

  private static func check(_ text: String, _ name: String) -> [String] {
    findings(text, name: name, modules: ["routine": "return function() end"])
  }

  @Test("of three hundred mistakes at least 95 of 100 are found, and texts without one have no complaint")
  func rate() throws {
    let definitions = DefinitionScripts.all(reference).map {
      MistakeSource(name: $0.name, text: $0.text, reference: reference)
    }
    #expect(definitions.count > 200)
    for source in try Self.scripts() + definitions {
      let found = Self.check(String(decoding: source.bytes, as: UTF8.self), source.name)
      #expect(found == [], "\(source.name): \(String(decoding: source.bytes, as: UTF8.self))")
    }
    var maker = MistakeMaker(
      reference: reference, rooms: (house.speakers ?? []) + (house.groups ?? []), stations: house.stations,
      seed: 28)
    var (sum, all) = (0, 0)
    for kind in MadeMistake.Kind.allCases {
      var chosen: [MadeMistake] = []
      for sources in kind == .nilUsed ? [] : [try Self.scripts(), definitions] {
        var mistakes: [MadeMistake] = []
        for source in sources { mistakes += maker.mistakes(kind, in: source) }
        mistakes.shuffle(using: &maker.random)
        chosen += mistakes.prefix(chosen.isEmpty ? Self.count / 2 : Self.count - chosen.count)
      }
      if kind == .nilUsed {
        chosen = Array(DefinitionScripts.nilUses(reference).shuffled(using: &maker.random).prefix(Self.count))
      }
      let missed = chosen.filter { Self.check($0.script, $0.source).isEmpty }
      print("\(kind.rawValue): \(chosen.count - missed.count) of \(chosen.count) found")
      for mistake in missed { print("  missed: \(mistake.change)") }
      (sum, all) = (sum + chosen.count - missed.count, all + chosen.count)
    }
    print("\(sum) of \(all) mistakes found")
    #expect(all == 300 && Double(sum) >= 0.95 * Double(all), "\(sum) of \(all)")
  }
}
