import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite(.tags(.completion)) struct CompletionTests {
  @Sendable private static func names(_ kind: NameKind, _ configuration: String?) -> [String] {
    switch kind {
    case .rooms: ["Living Room", "Kitchen", "Bad\nname"]
    case .stations: configuration.map { ["of \($0)"] } ?? ["morning", "the \"club\""]
    case .jobs: ["show"]
    case .daemonJobs: ["wake up", "bedtime/off"]
    case .scripts: ["bedtime", "doorbell"]
    case .hooks: ["front"]
    case .topics: ["alarm", "configuration", "alarm.at", "recorder"]
    case .zones: ["Europe/Berlin"]
    }
  }

  private static func complete(_ line: String...) -> Completion {
    Completion(line.last ?? "", after: Array(line.dropLast()), names: names)
  }

  private static func values(_ words: String...) -> [String] {
    Completion(words.last ?? "", after: Array(words.dropLast()), names: names).proposals.map(\.value)
  }

  @Test("the first word is a command, or an option of the program")
  func commands() {
    let program = ProgramSpec.roomtone
    #expect(Self.values("") == program.commands.map(\.name) + ["help"])
    #expect(Self.values("rec") == ["record", "recordings"])
    #expect(Self.values("--") == ["--help", "--version"])
    #expect(Self.values("help", "rec") == ["record", "recordings", "recorder"])
    #expect(Self.values("help", "al") == ["alarm"] && Self.values("help", "alarm.") == ["alarm.at"])
    #expect(Self.values("help", "cron", "") == ["list", "add", "run", "remove"])
    #expect(Self.values("unknown", "") == [] && Self.values("help", "run", "x", "") == [])
    #expect(Self.complete("rec").proposals[0].summary == "records a station")
  }

  @Test("all options of each command are proposed", arguments: ProgramSpec.roomtone.commands.map(\.name))
  func options(name: String) throws {
    let command = try #require(ProgramSpec.roomtone.command(name))
    #expect(Self.values(name, "--") == command.allOptions.map(\.dashed))
    for action in command.actions {
      #expect(Self.values(name, action.name, "--") == (action.options + [.help]).map(\.dashed))
    }
    #expect(
      Self.values(name, "").starts(with: command.actions.map(\.name)) || command.actions.isEmpty)
  }

  @Test("an option that was given, or that another one excludes, is left out; one that may be repeated stays")
  func given() {
    #expect(!Self.values("record", "--for", "1h", "--").contains("--for"))
    #expect(!Self.values("record", "--for=1h", "--").contains("--until"))
    #expect(!Self.values("run", "-v", "--").contains("--verbose"))
    #expect(Self.values("play", "--on", "Kitchen", "--").contains("--on"))
    #expect(Self.values("run", "x.lua", "--", "--") == [], "behind -- there are no options")
    #expect(Self.values("devices", "") == ["--json", "--config", "--help"])
  }

  @Test("values are those of the option, also behind an equals sign")
  func values() {
    #expect(Self.values("recordings", "--state", "").contains("finished"))
    #expect(Self.values("play", "--on", "") == ["Living Room", "Kitchen"], "without control characters")
    #expect(Self.values("play", "--on", "kit") == ["Kitchen"])
    #expect(Self.values("run", "--for", "") == [] && Self.complete("run", "--for", "").files == [])
    #expect(Self.values("simulate", "--timezone", "Eu") == ["Europe/Berlin"])
    let attached = Self.complete("play", "--on=L")
    #expect(attached.prefix == "--on=" && attached.proposals.map(\.value) == ["Living Room"])
    #expect(Self.values("run", "--nonsense=") == [])
    #expect(Self.values("run", "--house", "") == ["house", "snapcast", "hkwhub"])
    let output = Self.complete("run", "--output", "")
    #expect(output.proposals.map(\.value) == ["alsa", "null", "alsa:", "wav:"] && output.files == [])
    #expect(output.proposals.map(\.isBeginning) == [false, false, true, true])
    #expect(
      Self.complete("run", "--output", "wav:o").files == [.init(behind: "wav:", isFolder: true)])
    #expect(Self.complete("run", "--config", "").files == [.init(extensions: ["lua"])])
  }

  @Test("operands have their files and names, by the configuration of the command line")
  func operands() {
    #expect(Self.complete("run", "").files == [.init(extensions: ["lua"])])
    #expect(Self.complete("run", "-e", "code", "").files == [.init()], "the script's arguments")
    #expect(Self.complete("run", "a.lua", "b", "c", "").files == [.init()])
    #expect(Self.values("record", "") == ["morning", "the \"club\""])
    #expect(Self.values("record", "--config", "x.lua", "") == ["of x.lua"])
    #expect(Self.values("record", "--config=x.lua", "") == ["of x.lua"])
    #expect(Self.complete("play", "").files.first?.extensions.contains("flac") == true)
    #expect(Self.values("headset", "eq", "").contains("music"))
    #expect(Self.values("headset", "anc", "") == ["on", "off"])
    #expect(Self.values("cron", "remove", "") == ["show"])
    #expect(Self.values("completion", "") == ["bash", "zsh", "fish"])
  }

  @Test("rooms, scripts and jobs of the house and its daemon are proposed where they are meant")
  func house() {
    for verb in ["volume", "mute", "unmute", "pause", "resume", "stop", "next", "previous", "now"] {
      #expect(Self.values(verb, "kit") == ["Kitchen"], "\(verb)")
    }
    for action in ["volume", "stop"] { #expect(Self.values("ctl", action, "Li") == ["Living Room"]) }
    #expect(Self.values("ctl", "why", "b") == ["bedtime/off", "bedtime"])
    #expect(Self.values("ctl", "why", "K") == ["Kitchen"])
    #expect(Self.values("ctl", "history", "--room", "K") == ["Kitchen"])
    #expect(Self.values("ctl", "history", "--kind", "vol") == ["volume"])
    for action in ["run-now", "skip"] { #expect(Self.values("ctl", action, "w") == ["wake up"]) }
    for action in ["restart", "reload"] { #expect(Self.values("ctl", action, "d") == ["doorbell"]) }
    #expect(Self.values("ctl", "log", "--script", "") == ["bedtime", "doorbell"])
    #expect(Self.values("cron", "run", "") == ["show"])
    #expect(Self.complete("serve", "").files == [.init(isFolder: true)])
  }

  @Test("a job's own command line is completed as that of the command")
  func jobs() {
    #expect(Self.values("cron", "add", "@daily", "") == ["run", "play", "record"])
    #expect(Self.values("cron", "add", "@daily", "record", "mor") == ["morning"])
    #expect(Self.values("cron", "add", "@daily", "record", "--wait") == ["--wait-for-audio"])
    #expect(Self.values("cron", "add", "@daily", "play", "--on", "K") == ["Kitchen"])
    #expect(Self.values("cron", "add", "@daily", "show.lua", "--n") == ["--name", "--no-attach"])
    #expect(Self.complete("cron", "add", "@daily", "run", "").files == [.init(extensions: ["lua"])])
    #expect(Self.complete("cron", "add", "@daily", "show.lua", "").files == [.init()])
  }

  @Test("a line of bash is split as bash does, and what readline replaces is quoted as it is open there")
  func line() {
    func replaced(_ line: String, by value: String) -> String? {
      ShellLine(line, breaks: " \t\n\"'><=;|&(:").replacement(by: value)
    }
    let line = ShellLine(#"roomtone play 'it'"'"'s' a\ b --on="Living R"#, breaks: "=\"'")
    #expect(line.words == ["roomtone", "play", "it's", "a b"] && line.word == "--on=Living R")
    #expect(line.quote == "\"" && line.kept == 5)
    #expect(replaced("r --on Li", by: "Living Room") == #"Living\ Room"#)
    #expect(replaced(#"r --on "Li"#, by: #"Living "Room" $1"#) == #"Living \"Room\" \$1"#)
    #expect(replaced("r --on 'Li", by: "Living 'Room'") == #"Living '\''Room'\''"#)
    #expect(replaced("r --on=Li", by: "--on=Living Room") == #"Living\ Room"#)
    #expect(replaced(#"r Living\ R"#, by: "Living Room") == #"Living\ Room"#)
    #expect(replaced("r wav:o", by: "wav:out") == "out")
    #expect(replaced("r K\u{fc}", by: "K\u{fc}che") == "K\u{fc}che")
    #expect(replaced("r other:x", by: "wav:out") == nil)
    #expect(ShellLine("roomtone ", breaks: "").words == ["roomtone"])
  }

  @Test("a query that is incomplete has no answer")
  func incomplete() {
    for shell in CompletedShell.allCases {
      #expect(shell.answer([], home: nil, names: Self.names) == "")
    }
  }
}
