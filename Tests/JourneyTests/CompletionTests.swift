import Glibc
import TestSupport
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite("completion in the real shells", .waiting, .tags(.completion))
struct CompletionTests {
  /// Lines to complete, each with a word for each option, command or action of the table.
  private static var table: [(line: String, words: [String])] {
    let program = ProgramSpec.roomtone
    var table = [("roomtone ", program.commands.map(\.name)), ("roomtone --", program.options.map(\.dashed))]
    for command in program.commands {
      table.append(("roomtone \(command.name) --", command.allOptions.map(\.dashed)))
      if command.actions.isEmpty { continue }
      table.append(("roomtone \(command.name) ", command.actions.map(\.name)))
      for action in command.actions {
        table.append(("roomtone \(command.name) \(action.name) --", action.options.map(\.dashed)))
      }
    }
    return table
  }

  /// Shell line that makes `roomtone` the program under test, on a terminal that shows all characters.
  private static let setup =
    "export PATH=\"${ROOMTONE%/*}:$PATH\" LC_ALL=C.UTF-8 TERM=xterm PS1='ready> '; "

  /// Runs a script of a shell in a home, and returns the lines of its output.
  private func run(_ shell: String, _ script: String, in home: Home) throws -> [String] {
    try home.script(script, as: "script")
    let outcome = try home.runInShell(Self.setup + "exec \(shell) script")
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    return outcome.lines
  }

  /// Checks that each line of the table has its words among the answers, which follow `= LINE`.
  private func check(_ answers: [String], _ shell: String) throws {
    var found: [String: Set<Substring>] = [:]
    var line = ""
    for answer in answers {
      if answer.hasPrefix("= ") {
        line = String(answer.dropFirst(2))
        found[line] = []
      } else {
        found[line]?.insert(answer.prefix { $0 != "\t" && $0 != ":" })
      }
    }
    for (line, words) in Self.table {
      let known = try #require(found[line], "\(shell): \(line)")
      for word in words { #expect(known.contains(word[...]), "\(shell): \(line) has no \(word)") }
    }
  }

  @Test("bash knows each command, action and option of the table")
  func bash() throws {
    let lines = Self.table.map { "ask '\($0.line)'\n" }.joined()
    try check(
      run(
        "bash --norc",
        """
        source <(roomtone completion bash)
        complete -p roomtone >/dev/null || exit 1
        ask() {
          COMP_LINE=$1 COMP_POINT=${#1}
          _roomtone roomtone
          printf '%s\\n' "= $1" "${COMPREPLY[@]}"
        }
        \(lines)
        """, in: try Home()), "bash")
  }

  @Test("fish knows each command, action and option of the table")
  func fish() throws {
    let lines = Self.table.map { "echo '= \($0.line)'; complete -C '\($0.line)'\n" }.joined()
    try check(
      run("fish --no-config", "roomtone completion fish | source\n\(lines)", in: try Home()), "fish")
  }

  @Test("zsh knows each command, action and option of the table")
  func zsh() throws {
    // The real completion system without a terminal: what the function adds is printed instead.
    let lines = Self.table.map { "ask '\($0.line)'\n" }.joined()
    try check(
      run(
        "zsh -f",
        """
        autoload -U compinit && compinit -u -D
        source <(roomtone completion zsh)
        [[ $_comps[roomtone] == _roomtone ]] || exit 1
        _describe() { print -rl -- "${(@P)4}" }
        _files() { return 1 }
        compset() { return 0 }
        ask() {
          local words=("${(@s: :)1}") CURRENT PREFIX
          CURRENT=$#words PREFIX=$words[-1]
          print -r -- "= $1"
          _roomtone
          return 0
        }
        \(lines)
        """, in: try Home()), "zsh")
  }

  /// Words that are typed, and the word that the shell's command gets.
  private static let cases = [
    (#"play --on Living\ Room\ L"#, "Left", "Living Room Left"),
    (#"play --on "Living Room L"#, "Left", "Living Room Left"),
    (#"play --on='Living Room L"#, "Left", "--on=Living Room Left"),
    (#"run "a folder/my"#, "show.lua", "a folder/my show.lua"),
    (#"run a\ folder/my"#, "show.lua", "a folder/my show.lua"),
    (#"record K"#, "che", "Küche & Bad"),
  ]

  @Test(
    "names and files with blanks are one word, as it was begun: bare or in quotes",
    arguments: ["bash --norc --noprofile -i", "zsh -f -i", "fish --no-config -i"])
  func quoting(shell: String) throws {
    let home = try Home()
    for folder in ["a folder", "config/roomtone"] {
      guard mkdir(home.path(folder), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    }
    try home.script("", as: "a folder/my show.lua")
    try home.script(
      #"stations { ["Küche & Bad"] = "http://127.0.0.1:1/" }"#, as: "config/roomtone/config.lua")
    let terminal = try home.startInShell(Self.setup + "exec \(shell) 2>&1", input: .terminal)
    let name = String(shell.prefix { $0 != " " })
    if name == "zsh" { try terminal.type("autoload -U compinit; compinit -u -D; PS1='ready> '\n") }
    let load =
      name == "fish"
      ? "function fish_prompt; echo 'ready> '; end; roomtone completion fish | source"
      : "source <(roomtone completion \(name))"
    try terminal.type(load + "; echo load''ed\n")
    try terminal.expect("loaded\r\n")
    for (typed, rest, word) in Self.cases {
      try terminal.expect("ready> ")
      try terminal.type("roomtone \(typed)\t")
      try terminal.expect(rest)
      // The line begins with another program, which shows its words.
      try terminal.type("\u{1}printf '<%s>' \n")
      try terminal.expect("<\(word)>")
    }
    try terminal.expect("ready> ")
    try terminal.type("exit\n")
    #expect(try terminal.finish().status == 0)
  }

  @Test("a name of the machine is there at once, and nothing is printed where there is none")
  func names() throws {
    let home = try Home()
    func ask(_ line: String) throws -> Outcome {
      try home.runInShell("\"$ROOMTONE\" __complete bash '=:' 'roomtone \(line)'")
    }
    #expect(try ask("play x --on ").lines.contains(#"Living\ Room"#))
    #expect(try ask("simulate --timezone Europe/Berl").lines == ["words", "Europe/Berlin"])
    // Time of the processor, as other tests run beside it: 20 ms without a sanitizer.
    let timed = try home.runInShell(
      "TIMEFORMAT='%U %S'; export TIMEFORMAT; exec bash -c 'time \"$ROOMTONE\" __complete bash = \"roomtone play x --on \"'"
    )
    let seconds = timed.errors.split(separator: " ").compactMap {
      Double($0.filter { $0.isNumber || $0 == "." })
    }
    #expect(seconds.count == 2 && seconds.reduce(0, +) < 0.2, "\(timed)")
    try home.script("house {", as: "broken.lua")
    for line in ["play --config broken.lua --on ", "record --config none.lua ", "cron remove "] {
      let outcome = try ask(line)
      #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    }
    let none = try home.runInShell("\"$ROOMTONE\" __complete; \"$ROOMTONE\" __complete tcsh x")
    #expect(none.output == "" && none.errors == "" && none.status == 2)
  }

  @Test("rooms, jobs and scripts are those of the daemon that runs, and help has its topics")
  func daemon() throws {
    let (home, process) = try ServeTests.serve([
      ("bedtime.lua", "require('schedule').cron('30 23 * * *', { name = 'lights out' }, print)"),
      (
        "doorbell.lua",
        "require('speaker').open { add_all = false } require('speaker').device('Kitchen'):set_name('Küche')"
      ),
    ])
    try ServeTests.wait("the speaker is renamed") { try home.run("devices").output.contains("Küche") }
    func ask(_ line: String) throws -> [String] {
      let outcome = try home.runInShell("\"$ROOMTONE\" __complete zsh \(line)")
      #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
      return outcome.lines.map { String($0.dropFirst("word\t".count).prefix { $0 != "\t" }) }
    }
    for verb in ["volume", "mute", "stop", "ctl why"] {
      #expect(try ask("\(verb) Kü") == ["Küche"], "\(verb)")
    }
    for action in ["run-now", "skip", "why"] { #expect(try ask("ctl \(action) lig") == ["lights out"]) }
    for action in ["restart", "reload"] { #expect(try ask("ctl \(action) ''") == ["bedtime", "doorbell"]) }
    #expect(try ask("help al") == ["alarm"] && ask("help alarm.s").contains("alarm.set"))
    process.send(SIGTERM)
    _ = try process.finish()
    #expect(try ask("ctl restart b") == [] && ask("mute Bath").contains("Bathroom"))
  }

  @Test("a shell without completion is refused by name")
  func unknown() throws {
    let outcome = try Home().run("completion", "fsh")
    #expect(outcome.status == 2 && outcome.output == "")
    #expect(
      outcome.errors
        == "roomtone: completion: 'fsh' is not a known shell; did you mean 'fish'? (see roomtone completion --help)\n"
    )
    #expect(try Home().run("completion").status == 2)
  }
}
