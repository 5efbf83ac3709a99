internal import EventLoop
internal import LuaModules
internal import LuaRuntime
internal import Scheduling

/// A file of specs: Lua that calls `describe` and `it`. Each test runs in an engine of its own, whose script runs the
/// file up to the test.
public struct SpecFile {
  /// A test of the file.
  public struct Test: Sendable {
    /// The titles of the descriptions around it, and its own, with blanks between.
    public let title: String
    /// The local time at which its clock begins, as given; nil for the usual one.
    public let start: String?
    /// The name of its time zone; nil for the machine's.
    public let timezone: String?
    /// The path of a stations file; nil without one.
    public let stations: String?
  }

  /// The result of running a test.
  public struct Outcome: Sendable {
    /// The failures, each in one line with file and line number; empty if the test has passed.
    public internal(set) var failures: [String] = []
    /// The lines that it printed.
    public internal(set) var lines: [String] = []
    /// The virtual time that passed, in seconds.
    public internal(set) var seconds = 0.0

    init() {}

    /// The outcome of a test that could not be run, for this reason.
    public init(failure: String) { failures = [failure.onOneLine] }
  }

  /// The virtual time after which a test that is not done has failed.
  public static let limit = Duration.seconds(400 * 86_400)

  /// The text of the file.
  public let text: ScriptText

  /// The file with this text.
  public init(_ text: ScriptText) { self.text = text }

  /// Returns the tests of the file in their order. Blocks the calling thread.
  /// - Parameter engine: an engine under virtual time, used up by this call.
  /// - Throws: `LuaError` of the file's syntax, or that the file raises outside of its tests; `spec.incomplete` when it
  ///   ends the script.
  public func tests(in engine: Engine) throws -> [Test] {
    var tests: [Test] = []
    var (failure, isLoaded) = (LuaError?.none, false)
    engine.onFailure = { failure = failure ?? $0 }
    defer { engine.onFailure = { _ in } }
    _ = try run(
      0, in: engine,
      [
        LuaFunction("found", arity: 2) { call in
          let options = try call.options(2, ["from", "timezone", "stations"])
          tests.append(
            Test(
              title: try call.shownText(1), start: try options.string("from"),
              timezone: try options.string("timezone"), stations: try options.string("stations")))
          return .none
        },
        LuaFunction("loaded", arity: 0) { _ in
          isLoaded = true
          return .none
        },
      ])
    if let failure { throw failure }
    guard isLoaded else {
      throw LuaError(
        code: "spec.incomplete", message: "the file did not run to its end, and may have more tests",
        hint: "call os.exit and long waits only inside tests")
    }
    return tests
  }

  /// Runs a test. Blocks the calling thread.
  /// - Parameters:
  ///   - number: the number of the test in the file, from 1.
  ///   - engine: an engine under virtual time, used up by this call.
  /// - Throws: `LuaError` of the file's syntax.
  public func run(_ number: Int, in engine: Engine) throws -> Outcome {
    var outcome = Outcome()
    var hasEnded = false
    let start = engine.loop.now
    engine.onPrint = { outcome.lines.append($0) }
    engine.onFailure = { outcome.failures.append($0.description.onOneLine) }
    defer {
      engine.onPrint = { _ in }
      engine.onFailure = { _ in }
    }
    _ = try run(
      number, in: engine,
      [
        LuaFunction("ended", arity: 1) { [loop = engine.loop] call in
          hasEnded = true
          outcome.seconds = start.duration(to: loop.now).inSeconds
          if !call.isNil(1) { outcome.failures.insert(try call.shownText(1).onOneLine, at: 0) }
          return .none
        }
      ])
    if !hasEnded, outcome.failures.isEmpty {
      let isLate = start.duration(to: engine.loop.now) >= Self.limit
      outcome.failures.append(
        isLate
          ? "the test was not done within 400 days of its clock"
          : "the script ended before the test, as by os.exit")
    }
    return outcome
  }

  private func run(_ number: Int, in engine: Engine, _ functions: [LuaFunction]) throws -> RunResult {
    let script = try engine.makeScript(text.name, isFile: text.isFile)
    script.state.register("roomtone.runner", functions, values: [("number", .int(number))])
    // The prelude stands on the file's first line, so that the numbers of the lines stay.
    let prelude = "local _ <close> = require 'roomtone.spec'.install() "
    let main = try script.state.load(Array(prelude.utf8) + text.bytes, chunkName: text.chunkName)
    return engine.run(script, main, limit: Self.limit)
  }
}
