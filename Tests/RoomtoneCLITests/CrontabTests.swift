import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite("the text of a crontab", .tags(.cron))
struct CrontabTests {
  private func crontab(_ text: String) -> Crontab { Crontab(Array(text.utf8)) }
  private func text(_ crontab: Crontab) -> String { String(decoding: crontab.bytes, as: UTF8.self) }

  private static let show = Crontab.Job(
    name: "show", schedule: "30 20 * * 6", command: "/usr/bin/roomtone run /home/me/show.lua")
  private static let line = "30 20 * * 6 /usr/bin/roomtone run /home/me/show.lua # roomtone: show\n"

  @Test("a job is added behind all lines, which stay as they are, and removed without a trace")
  func addAndRemove() {
    let before = "# mine\n\nMAILTO=me\n5 5 * * *\t true  \n\t# indented\n"
    var crontab = crontab(before)
    crontab.add(Self.show)
    #expect(text(crontab) == before + Self.line)
    #expect(crontab.jobs == [Self.show] && crontab.job("show") == Self.show)
    crontab.remove("show")
    #expect(text(crontab) == before)
    #expect(text(self.crontab("")) == "")
  }

  @Test("bytes of other lines that are no UTF-8 stay")
  func bytes() {
    let before: [UInt8] = [0x23, 0xff, 0xfe, 0x80, 0x0d, 0x0a, 0x0a, 0x0a]
    var crontab = Crontab(before)
    crontab.add(Self.show)
    crontab.remove("show")
    #expect(crontab.bytes == before)
  }

  @Test("a last line without an end gets one, so that the next begins a line")
  func unended() {
    var crontab = crontab("5 5 * * * true")
    crontab.add(Self.show)
    #expect(text(crontab) == "5 5 * * * true\n" + Self.line)
  }

  @Test(
    "lines that only look like ours are not",
    arguments: [
      "# 30 20 * * 6 roomtone run a.lua # roomtone: show", "  # 30 20 * * 6 roomtone # roomtone: show",
      "30 20 * * 6 roomtone run a.lua", "30 20 * * 6 roomtone run a.lua #roomtone: show",
      "30 20 * * 6 roomtone run a.lua # roomtone:", "30 20 * * 6 # roomtone: show", "A=b # roomtone: show",
      "30 20 * * 6 roomtone # roomtone: a#b",
    ])
  func strangers(_ line: String) {
    var crontab = crontab(line + "\n")
    #expect(crontab.jobs == [])
    crontab.remove("show")
    crontab.remove("a#b")
    #expect(text(crontab) == line + "\n")
  }

  @Test("a line that a person has changed is ours still: moved, with other blanks, with a log")
  func changed() {
    let crontab = crontab("  @daily\tnice roomtone run a.lua >>log 2>&1 # roomtone: show\nX=1\n")
    #expect(
      crontab.jobs == [.init(name: "show", schedule: "@daily", command: "nice roomtone run a.lua >>log 2>&1")]
    )
  }

  @Test("all lines of a name are removed, and no line of another")
  func names() {
    var crontab = crontab(Self.line + Self.line.replacing("show\n", with: "show 2\n") + Self.line)
    crontab.remove("show")
    #expect(crontab.jobs.map(\.name) == ["show 2"])
  }

  @Test(
    "% is escaped for cron",
    arguments: ["50%", "\\%", "a\\\\%b", "%Y-%m-%d %H.%M", "it's %", "\\"])
  func percent(word: String) throws {
    var crontab = crontab("")
    let command = "printf %s " + ShellWord.quoted(word)
    crontab.add(.init(name: "a", schedule: "@daily", command: command))
    #expect(crontab.jobs.first?.command == command)
    // The command as cron passes it to the shell. Source: do_command.c of cron 3.0pl1.
    let line = try #require(text(crontab).split(separator: "\n").first).dropFirst("@daily ".count)
    var (handed, isEscaped, hasInput) = ("", false, false)
    for character in line {
      if isEscaped {
        if character == "%" { handed.removeLast() }
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "%" {
        hasInput = true
      }
      handed.append(character)
    }
    #expect(!hasInput)
    #expect(ShellWord.split(handed.replacing(" # roomtone: a", with: "")) == ["printf", "%s", word])
  }

  @Test(
    "names that could end the comment or the line are refused",
    arguments: ["", " a", "a ", "-a", "a#b", "5%", "a\\", "a\nb"])
  func name(_ name: String) { #expect(!Crontab.isName(name)) }

  @Test("words are quoted where a shell would change them, and split again")
  func words() {
    for word in ["", "a b", "it's", "$HOME", "`id`", "a\\", "\"", "~", "*", "größe", "a;b", "!", "--x=a b"] {
      #expect(ShellWord.quoted(word).hasPrefix("'"), "\(word)")
      #expect(ShellWord.split("x \(ShellWord.quoted(word))  y") == ["x", word, "y"])
    }
    #expect(ShellWord.quoted("/usr/bin/a-b_c.d") == "/usr/bin/a-b_c.d")
    #expect(ShellWord.split("a 'b") == nil)
  }
}
