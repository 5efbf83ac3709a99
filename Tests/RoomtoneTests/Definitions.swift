import TestSupport

/// The descriptions in stdlib/meta: read line by line, as far as tests compare them with the modules.
struct Definitions {
  /// One function as it is described.
  struct Function {
    /// `speaker.play`, `speaker.Device:join`.
    let name: String
    /// The comment above it, without its dashes.
    let comment: [String]
    let parameters: [String]
    /// The position in its file: `speaker.lua:12`.
    let location: String

    var isAsync: Bool { comment.contains("@async") }
    /// Names after `@param`, without the mark of optional ones.
    var describedParameters: [String] {
      comment.compactMap { line in
        guard line.hasPrefix("@param ") else { return nil }
        return line.split(separator: " ").dropFirst().first.map { String($0.prefix { $0 != "?" }) }
      }
    }
  }

  static let files = [
    "alarm.lua", "announce.lua", "eq.lua", "error.lua", "fade.lua", "follow.lua", "globals.lua",
    "headset.lua", "log.lua", "party.lua", "recorder.lua", "recordings.lua", "scene.lua", "schedule.lua",
    "sleep_timer.lua", "speaker.lua", "speaker_devices.lua", "speaker_events.lua", "speaker_sessions.lua",
    "store.lua", "stream.lua", "stream_recordings.lua", "task.lua", "trigger.lua", "zone.lua",
  ]

  /// The text of a file.
  static func text(_ file: String) throws -> [UInt8] {
    try readBytes(Fixtures.repository("stdlib/meta/\(file)"))
  }

  private(set) var functions: [Function] = []
  /// Fields of classes that are described by `@field`.
  private(set) var fields: [String: Set<String>] = [:]
  /// Names in the quotes of an alias.
  private(set) var aliases: [String: Set<String>] = [:]
  /// Values of modules: `speaker.MAX_VOLUME`.
  private(set) var values: Set<String> = []

  /// Reads all files.
  init() throws {
    for file in Self.files { read(String(decoding: try Self.text(file), as: UTF8.self), file) }
  }

  /// Names behind `prefix`, which is `speaker.` for the module and `speaker.Device:` for the methods of a class.
  func functions(of prefix: String) -> Set<String> {
    Set(
      functions.compactMap { function in
        guard function.name.hasPrefix(prefix) else { return nil }
        let name = function.name.dropFirst(prefix.count)
        return name.contains(where: { ".:".contains($0) }) ? nil : String(name)
      })
  }

  private mutating func read(_ text: String, _ file: String) {
    var comment: [String] = []
    var classes: [String: String] = [:]
    var (current, alias): (String?, String?)
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.hasPrefix("---") {
        let body = String(line.dropFirst(3))
        comment.append(body)
        let words = body.split(separator: " ").map(String.init)
        switch words.first {
        case "@class":
          current = words[1]
          fields[words[1]] = []
        case "@field": if let current { fields[current]?.insert(words[1].filter { $0 != "?" }) }
        case "@alias":
          alias = words[1]
          aliases[words[1]] = Set(
            body.split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) })
        // One name a line, with what it means behind it.
        case "|": if let alias, words.count > 1 { aliases[alias]?.insert(words[1].filter { $0 != "\"" }) }
        default: break
        }
        continue
      }
      if line.hasPrefix("function ") {
        let head = line.dropFirst("function ".count).prefix { $0 != ")" }.split(
          separator: "(", omittingEmptySubsequences: false)
        var name = String(head[0])
        if let colon = name.firstIndex(of: ":"), let type = classes[String(name[..<colon])] {
          name = type + name[colon...]
        }
        let parameters = head[1].split(separator: ",").map { $0.filter { $0 != " " } }
        functions.append(
          Function(name: name, comment: comment, parameters: parameters, location: "\(file):\(index + 1)"))
      } else if line.hasPrefix("local "), let current {
        classes[String(line.split(separator: " ")[1])] = current
      } else if let dot = line.firstIndex(of: "."), line.contains(" = "), line[..<dot].allSatisfy(\.isLetter)
      {
        values.insert(String(line.prefix { $0 != " " }))
      }
      comment = []
    }
  }
}
