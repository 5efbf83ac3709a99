import Glibc
import TestSupport
import TestTraits
import Testing

/// A daemon whose output nobody reads.
@Suite("output that nobody reads", .waiting) struct StoppedReaderTests {
  private static let script = """
    local trigger = require "trigger"
    trigger.on("flood", function()
      for i = 1, 3000 do io.write(("%05d %s\\n"):format(i, ("x"):rep(1000))) end
      print "done"
    end)
    trigger.on("say", function() print "again" end)
    """

  @Test("a reader that has stopped holds nothing up, and finds how much it has missed")
  func stopped() throws {
    let home = try Home()
    guard mkdir(home.path("scripts"), 0o700) == 0, mkfifo(home.path("pipe"), 0o600) == 0 else {
      throw TestFailure("cannot make a pipe")
    }
    try home.script(Self.script, as: "scripts/a.lua")
    // The third descriptor keeps the pipe open, and reads nothing.
    let process = try home.startInShell(
      "exec 3<>pipe; exec $ROOMTONE serve --output null scripts > pipe 2>&1")
    try ServeTests.awaitAnswer(home)
    #expect(try home.run("ctl", "trigger", "flood").status == 0)
    try ServeTests.wait("the script has written all") {
      try home.run("ctl", "log").lines.contains { $0.hasSuffix("a: done") }
    }

    let reader = try Descriptor(open(home.path("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC), of: "the pipe")
    var text: [UInt8] = []
    func read(upTo part: String) throws {
      try ServeTests.wait("\"\(part)\" is read") {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = Glibc.read(reader.number, &chunk, chunk.count), count > 0 {
          text += chunk[..<count]
        }
        return String(decoding: text.suffix(200_000), as: UTF8.self).contains(part)
      }
    }
    try read(upTo: " bytes of output left out: nobody has read it\n")
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    let whole = lines.filter { $0.count == 1006 && $0.hasSuffix("xxx") }
    let numbers = whole.compactMap { Int($0.prefix(5)) }
    #expect(numbers.count > 200 && numbers == Array(1...numbers.count))
    let lost = lines.compactMap { line in
      line.hasPrefix("roomtone: ") ? Int(line.dropFirst(10).prefix { $0.isNumber }) : nil
    }.reduce(0, +)
    #expect(lost > 1_000_000 && lost <= 1007 * (3000 - numbers.count) + 100, "\(lost)")
    // A line that is cut ends with a mark.
    #expect(lines.count { $0.hasSuffix("…") } <= 1)

    #expect(try home.run("ctl", "trigger", "say").status == 0)
    try read(upTo: "a: again\n")
    process.send(SIGTERM)
    #expect(try process.finish().status == 128 + SIGTERM)
  }

  @Test("a daemon ends in time when its reader has stopped")
  func end() throws {
    let home = try Home()
    guard mkdir(home.path("scripts"), 0o700) == 0, mkfifo(home.path("pipe"), 0o600) == 0 else {
      throw TestFailure("cannot make a pipe")
    }
    try home.script("for i = 1, 3000 do io.write(('y'):rep(99), '\\n') end", as: "scripts/a.lua")
    let process = try home.startInShell(
      "exec 3<>pipe; exec $ROOMTONE serve --output null scripts > pipe 2>&1")
    try ServeTests.awaitAnswer(home)
    process.send(SIGTERM)
    #expect(try process.finish().status == 128 + SIGTERM)
  }
}
