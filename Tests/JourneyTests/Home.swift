import Glibc
import TestSupport

/// A home folder of a test, with its scripts, in which `roomtone` runs.
final class Home {
  private let folder: TemporaryFolder

  /// Creates a home without any state of `roomtone`.
  init() throws {
    folder = try TemporaryFolder()
    for name in ["config", "state", "runtime"] {
      guard mkdir(folder.file(name), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    }
  }

  /// Returns the path of the file or folder called `name` in the home.
  func path(_ name: String) -> String { folder.file(name) }

  /// Writes a script and returns its name, as typed in this folder.
  @discardableResult
  func script(_ text: String, as name: String = "routine.lua") throws -> String {
    try write(Array(text.utf8), to: name)
    return name
  }

  /// Writes a file.
  func write(_ bytes: [UInt8], to name: String) throws { _ = try folder.write(bytes, to: name) }

  /// Writes a tune of noise, 16 bit, and returns its decoded sound.
  @discardableResult
  func tune(_ name: String = "tune.wav", frames: Int, sampleRate: Int = 48_000) throws -> Sound {
    try Sound(
      sampleRate: sampleRate,
      channels: [1, 2].map { Signal.noise(seed: $0, amplitude: 0.5, frames: frames) }
    ).write(to: path(name))
    return try Sound(file: path(name))
  }

  /// Links the tune of the first script, 23 s of music, as `music.mp3`.
  func music() throws {
    guard symlink(Fixtures.repository("scripts/wake_up.mp3"), path("music.mp3")) == 0 else {
      throw TestFailure("cannot link the music")
    }
  }

  /// Writes three minutes of music as `long.mp3`: longer than a test needs on a busy machine.
  func longMusic() throws {
    let once = try readBytes(Fixtures.path("mp3-without-tag.mp3"))
    try write(Array(repeating: once, count: 60).flatMap { $0 }, to: "long.mp3")
  }

  /// Runs `roomtone` to its end.
  /// - Parameters:
  ///   - input: its standard input.
  ///   - place: its working directory, this home by default.
  ///   - deadline: the time at which it counts as hanging, and is killed.
  func run(
    _ arguments: String..., input: RunningCommand.Input = .text(""), in place: String? = nil,
    deadline: Duration = .seconds(300)
  ) throws -> Outcome {
    try start(arguments, input: input, in: place, deadline: deadline).finish()
  }

  /// Starts `roomtone`.
  func start(
    _ arguments: [String], input: RunningCommand.Input = .text(""), in place: String? = nil,
    deadline: Duration = .seconds(300)
  ) throws -> RunningCommand {
    try RunningCommand(
      arguments, in: place ?? folder.path, environment: environment(), input: input, deadline: deadline)
  }

  /// Runs a line of the shell, in which `$ROOMTONE` is the command.
  func runInShell(_ line: String) throws -> Outcome { try startInShell(line).finish() }

  /// Starts a line of the shell, in which `$ROOMTONE` is the command.
  func startInShell(_ line: String, input: RunningCommand.Input = .text("")) throws -> RunningCommand {
    try RunningCommand(
      ["-c", line], of: "/bin/sh", in: folder.path,
      environment: environment() + ["ROOMTONE=\(Self.executable())"], input: input,
      deadline: .seconds(300))
  }

  /// Returns the path of the command that was built with these tests.
  static func executable() throws -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let own = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let path = own.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/roomtone"
    guard access(path, X_OK) == 0 else { throw TestFailure("\(path) is not there; build it") }
    return path
  }

  /// Returns this process's variables, without those that lead to a person's files or change the output.
  func environment() -> [String] {
    let own = [
      "HOME": folder.path, "XDG_CONFIG_HOME": path("config"), "XDG_STATE_HOME": path("state"),
      "XDG_RUNTIME_DIR": path("runtime"), "TERM": "dumb", "TZ": "UTC",
    ]
    let dropped: Set = [
      "NO_COLOR", "PAGER", "COLUMNS", "LINES", "NOTIFY_SOCKET", "WATCHDOG_USEC", "JOURNAL_STREAM",
    ]
    var variables = own.map { "\($0.key)=\($0.value)" }
    var entry = environ
    while let variable = entry.pointee {
      let text = String(cString: variable)
      let name = String(text.prefix { $0 != "=" })
      if own[name] == nil && !dropped.contains(name) && !name.hasPrefix("ROOMTONE_") {
        variables.append(text)
      }
      entry += 1
    }
    return variables
  }
}

/// Checks the WAV files in a folder, whose headers must contain their lengths.
/// - Returns: one line per unfinished file; nil without any files.
func unfinishedWAVs(in folder: String) throws -> [String]? {
  let names = fileNames(in: folder).filter { $0.hasSuffix(".wav") }
  guard !names.isEmpty else { return nil }
  return names.compactMap { name in
    do {
      _ = try wavSamples(in: "\(folder)/\(name)")
      return nil
    } catch {
      return "\(error)"
    }
  }
}

/// Returns the bytes of the samples of a WAV file, which must be the last of its chunks.
/// - Throws: `TestFailure` when the header has another length than the file.
func wavSamples(in path: String) throws -> ArraySlice<UInt8> {
  let bytes = try readBytes(path)
  func number(at place: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) } }
  guard bytes.count >= 12, bytes[..<4].elementsEqual("RIFF".utf8) else {
    throw TestFailure("\(path) is no WAV file")
  }
  var chunk = 12
  while chunk + 8 <= bytes.count, !bytes[chunk..<(chunk + 4)].elementsEqual("data".utf8) {
    chunk += 8 + number(at: chunk + 4)
  }
  guard chunk + 8 <= bytes.count else { throw TestFailure("\(path) has no samples") }
  let (all, end) = (number(at: 4) + 8, number(at: chunk + 4) + chunk + 8)
  guard all == bytes.count, end == bytes.count else {
    throw TestFailure("\(path) has \(bytes.count) bytes; its header says \(all), its samples end at \(end)")
  }
  return bytes[(chunk + 8)...]
}
