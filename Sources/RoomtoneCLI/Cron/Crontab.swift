/// The text of a crontab, with the lines of `roomtone`: those that end with `# roomtone: NAME`.
///
/// A value without access to cron. Other lines remain unchanged, byte by byte.
struct Crontab: Equatable {
  /// A line of `roomtone`: `30 20 * * 6 /usr/bin/roomtone run … # roomtone: show`.
  struct Job: Equatable {
    let name: String
    /// The five fields, or a word such as `@daily`.
    let schedule: String
    /// Command for the shell.
    let command: String
  }

  private var lines: [[UInt8]]
  private static let newline = UInt8(ascii: "\n")
  private static let mark = " # roomtone: "

  /// Creates a crontab from the output of `crontab -l`.
  init(_ bytes: [UInt8]) {
    lines = bytes.split(separator: Self.newline, omittingEmptySubsequences: false).map { Array($0) }
    // The empty part after the last line end is not a line.
    if lines.last == [] { lines.removeLast() }
  }

  /// Input for `crontab -`: each line with its end.
  var bytes: [UInt8] { lines.flatMap { $0 + [Self.newline] } }

  /// Returns `true` if `other` has these lines and no others, except for comments that `crontab` inserts
  /// at the beginning.
  func isAll(of other: Crontab) -> Bool {
    let added = other.lines.count - lines.count
    return added >= 0 && Array(other.lines[added...]) == lines
      && other.lines[..<added].allSatisfy { $0.first == UInt8(ascii: "#") } && other.jobs == jobs
  }

  /// Jobs of `roomtone`, in the order of their lines.
  var jobs: [Job] { lines.compactMap(Self.job) }

  /// Returns the job of this name.
  func job(_ name: String) -> Job? { jobs.first { $0.name == name } }

  /// Adds a line at the end.
  mutating func add(_ job: Job) {
    lines.append(Array("\(job.schedule) \(Self.escaped(job.command))\(Self.mark)\(job.name)".utf8))
  }

  /// Removes the lines of the job.
  mutating func remove(_ name: String) { lines.removeAll { Self.job($0)?.name == name } }

  private static func job(_ line: [UInt8]) -> Job? {
    let text = String(decoding: line, as: UTF8.self)
    let trimmed = text.drop { $0 == " " || $0 == "\t" }
    guard trimmed.first != "#", let (body, name) = parted(String(trimmed)), isName(name) else { return nil }
    let fields = body.hasPrefix("@") ? 1 : 5
    let words = body.split(maxSplits: fields) { $0 == " " || $0 == "\t" }
    guard words.count == fields + 1 else { return nil }
    return Job(
      name: name, schedule: words[..<fields].joined(separator: " "), command: unescaped(String(words[fields]))
    )
  }

  /// Returns the text before the last mark, and the name after it.
  private static func parted(_ line: String) -> (String, String)? {
    let (line, mark) = (Array(line.utf8), Array(mark.utf8))
    guard line.count >= mark.count,
      let start = (0...(line.count - mark.count)).last(where: { line[$0...].starts(with: mark) })
    else { return nil }
    return (
      String(decoding: line[..<start], as: UTF8.self),
      String(decoding: line[(start + mark.count)...], as: UTF8.self)
    )
  }

  /// Returns `true` for a valid job name, which is written into a shell comment in a line of the crontab.
  static func isName(_ name: String) -> Bool {
    let isOdd = { (scalar: Unicode.Scalar) in
      "#%\\".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control
    }
    return !name.isEmpty && name.first != " " && name.last != " " && name.first != "-"
      && name.utf8.count <= 60
      && !name.unicodeScalars.contains(where: isOdd)
  }

  // MARK: Cron's rules for a command

  /// Maximum length of a command in bytes; cron truncates a longer one without a message. Source:
  /// `MAX_COMMAND` of cron 3.0pl1.
  static let longestCommand = 998

  /// Returns the length in bytes of the job's command in the crontab, with its mark.
  static func length(of job: Job) -> Int { "\(escaped(job.command))\(mark)\(job.name)".utf8.count }

  /// Escapes `%`, which cron reads as the end of a line unless a backslash precedes it.
  private static func escaped(_ command: String) -> String {
    command.map { $0 == "%" ? "\\%" : String($0) }.joined()
  }

  private static func unescaped(_ command: String) -> String {
    var (result, isEscaped) = ("", false)
    for character in command {
      if isEscaped && character == "%" { result.removeLast() }
      result.append(character)
      isEscaped = !isEscaped && character == "\\"
    }
    return result
  }
}

/// Words for the shell of a crontab.
enum ShellWord {
  /// Returns the word, in quotes where it needs them, so that no shell changes it and cron leaves its `%`
  /// alone.
  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || "_-+=:,./@".utf8.contains(byte)
    }
    if isPlain && !word.isEmpty { return word }
    var result = "'"
    var last: Character?
    for character in word {
      switch character {
      case "'": result += "'\\''"
      // cron would remove a backslash before %, so that quotes are put between the two.
      case "%" where last == "\\": result += "''%"
      default: result.append(character)
      }
      last = character
    }
    return result + "'"
  }

  /// Returns the words into which a shell splits a line with quotes and backslashes alone; nil for an
  /// unterminated quote.
  static func split(_ line: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var rest = line[...]
    while let character = rest.popFirst() {
      switch character {
      case " ", "\t":
        if let done = word { words.append(done) }
        word = nil
      case "'", "\"":
        guard let end = rest.firstIndex(of: character) else { return nil }
        word = (word ?? "") + rest[..<end]
        rest = rest[rest.index(after: end)...]
      case "\\": word = (word ?? "") + (rest.popFirst().map { String($0) } ?? "")
      default: word = (word ?? "") + String(character)
      }
    }
    return words + (word.map { [$0] } ?? [])
  }
}
