import Glibc
import TestSupport
import TestTraits
import Testing

/// A daemon whose output nobody reads.
@Suite("output that nobody reads", .waiting, .tags(.command)) struct StoppedReaderTests {
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
    func read(upTo description: String, until isComplete: () -> Bool) throws {
      try ServeTests.wait(description) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = Glibc.read(reader.number, &chunk, chunk.count), count > 0 {
          text += chunk[..<count]
        }
        return isComplete()
      }
    }
    // A busy machine may leave out some before the pipe is full, and again afterwards: several lines report it.
    try read(upTo: "each byte of the script has been read or reported") {
      let flood = Flood(text)
      return flood.size >= Flood.lineSize * (3000 - flood.cuts)
    }
    let flood = Flood(text)
    #expect(flood.numbers.count > 200 && flood.numbers.first == 1)
    #expect(flood.unreported == [], "lines before which some are missing, and no loss was reported")
    #expect(
      flood.losses.reduce(0, +) > 1_000_000 && flood.size <= Flood.lineSize * 3000 + 100, "\(flood.losses)")
    // A line that is cut ends with a mark.
    #expect(flood.cuts <= flood.losses.count)

    #expect(try home.run("ctl", "trigger", "say").status == 0)
    try read(upTo: "the line of the second trigger is read") {
      String(decoding: text.suffix(1000), as: UTF8.self).contains("a: again\n")
    }
    process.send(SIGTERM)
    #expect(try process.finish().status == 128 + SIGTERM)
  }

  /// The parts of an output that came from the script's three thousand lines.
  private struct Flood {
    /// The size of each line, in bytes.
    static let lineSize = 1007
    /// The numbers of the lines that came whole.
    private(set) var numbers: [Int] = []
    /// The reported losses, in bytes.
    private(set) var losses: [Int] = []
    /// The count of lines that were cut.
    private(set) var cuts = 0
    /// The numbers of whole lines that neither continue the line before nor follow a report.
    private(set) var unreported: [Int] = []
    /// The bytes that came in whole lines or were reported.
    var size: Int { numbers.count * Self.lineSize + losses.reduce(0, +) }

    init(_ text: [UInt8]) {
      var isBehindReport = false
      for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
        if line.utf8.count == Self.lineSize - 1, line.hasSuffix("xxx"), let number = Int(line.prefix(5)) {
          if let last = numbers.last, number != last + 1, !isBehindReport || number < last {
            unreported.append(number)
          }
          numbers.append(number)
          isBehindReport = false
        } else if line.hasPrefix("roomtone: "),
          line.hasSuffix(" bytes of output left out: nobody has read it")
        {
          if let loss = Int(line.dropFirst(10).prefix { $0.isNumber }) { losses.append(loss) }
          isBehindReport = true
        } else if line.hasSuffix("…") {
          cuts += 1
        }
      }
    }
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
