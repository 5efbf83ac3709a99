/// The text of a crontab, in which some lines are ours: those that end with `# roomtone: NAME`.
///
/// A value that knows no cron. The other lines stay as they are, byte by byte.
struct Crontab: Equatable {
  /// One of our lines: `30 20 * * 6 /usr/bin/roomtone run … # roomtone: show`.
  struct Job: Equatable {
    let name: String
    /// The five fields, or a word such as `@daily`.
    let schedule: String
    /// What the shell gets.
    let command: String
  }

  private var lines: [[UInt8]]
  private static let newline = UInt8(ascii: "\n")
  private static let mark = " # roomtone: "

  /// What `crontab -l` prints.
  init(_ bytes: [UInt8]) {
    lines = bytes.split(separator: Self.newline, omittingEmptySubsequences: false).map { Array($0) }
    // What follows the last line end is no line.
    if lines.last == [] { lines.removeLast() }
  }

  /// What `crontab -` takes: each line with its end.
  var bytes: [UInt8] { lines.flatMap { $0 + [Self.newline] } }

  /// Whether `other` has these lines and no others, save for comments that a `crontab` puts in front.
  func isAll(of other: Crontab) -> Bool {
    let added = other.lines.count - lines.count
    return added >= 0 && Array(other.lines[added...]) == lines
      && other.lines[..<added].allSatisfy { $0.first == UInt8(ascii: "#") } && other.jobs == jobs
  }

  /// Our lines, in their order.
  var jobs: [Job] { lines.compactMap(Self.job) }

  /// The job of this name.
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

  /// What stands before the last mark, and the name behind it.
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

  /// Whether a job can be called this: it stands in a comment of the shell, in a line of the crontab.
  static func isName(_ name: String) -> Bool {
    let isOdd = { (scalar: Unicode.Scalar) in
      "#%\\".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control
    }
    return !name.isEmpty && name.first != " " && name.last != " " && name.first != "-"
      && name.utf8.count <= 60
      && !name.unicodeScalars.contains(where: isOdd)
  }

  // MARK: What cron makes of a command

  /// Bytes of the longest command: cron cuts what is longer, without a word. Source: `MAX_COMMAND` of cron 3.0pl1.
  static let longestCommand = 998

  /// The length of the job's command as it stands in the crontab, with its mark.
  static func length(of job: Job) -> Int { "\(escaped(job.command))\(mark)\(job.name)".utf8.count }

  /// cron takes `%` for the end of a line, unless a backslash stands before it.
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
  /// The word in quotes, unless it needs none: no shell changes it, and cron leaves its `%` alone.
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
      // A backslash before % would be cron's: the quotes between them keep them apart.
      case "%" where last == "\\": result += "''%"
      default: result.append(character)
      }
      last = character
    }
    return result + "'"
  }

  /// The words that a shell makes of a line with quotes and backslashes alone; nil where a quote has no end.
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
