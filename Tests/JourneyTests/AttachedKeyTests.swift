import Glibc
import TestSupport
import TestTraits
import Testing

/// The keys of `play` while a daemon plays.
@Suite("keys of a playback in the daemon", .waiting, .tags(.daemon, .playback)) struct AttachedKeyTests {
  private let (home, daemon): (Home, RunningCommand)

  init() throws {
    (home, daemon) = try ServeTests.serve([])
    guard mkdir(home.path("music"), 0o700) == 0 else { throw TestFailure("cannot make a folder") }
    for name in ["1.wav", "2.wav"] {
      try home.tune("music/\(name)", frames: 300 * 8_000, sampleRate: 8_000)
    }
  }

  private func play() throws -> RunningCommand {
    let player = try home.start(["play", "music", "--on", "kitchen"], input: .terminal)
    try player.expect("q quit")
    try player.expect("▶ 1.wav  0:00 / 5:00  1 of 2  volume")
    #expect(!player.terminalIsCooked)
    return player
  }

  private func endDaemon() throws {
    daemon.send(SIGTERM)
    let outcome = try daemon.finish()
    #expect(outcome.status == 143 && outcome.errors == "", "\(outcome)")
  }

  @Test("they pause, seek, change the volume, go through the files and quit, and the terminal is as before")
  func keys() throws {
    #expect(try home.run("volume", "kitchen", "30").status == 0)
    let player = try play()
    try player.type(" ")
    try player.expect("⏸ 1.wav")
    try player.type("\u{1B}[C\u{1B}OC")
    try player.expect("⏸ 1.wav  0:2")
    try player.type("n")
    try player.expect("⏸ 2.wav  0:00 / 5:00  2 of 2  volume 30  Kitchen")
    try player.type("-\u{1B}[B")
    try player.expect("volume 26")
    try player.type("+")
    try player.expect("volume 28")
    try player.type("p")
    try player.expect("⏸ 1.wav  0:00 / 5:00  1 of 2")
    try player.type(" ")
    try player.expect("▶ 1.wav")
    try player.type("q")
    let outcome = try player.finish()
    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
    #expect(outcome.output.hasSuffix("\r\n") && player.terminalIsCooked)
    #expect(try home.run("now").lines == ["nothing plays"])
    try endDaemon()
  }

  @Test("a signal restores the terminal, and ends the playback", arguments: [SIGINT, SIGTERM, SIGHUP])
  func signals(signal: Int32) throws {
    let player = try play()
    player.send(signal)
    let outcome = try player.finish()
    #expect(outcome.status == 128 + signal && outcome.errors == "" && player.terminalIsCooked, "\(outcome)")
    try ServeTests.wait("it is quiet") { try home.run("now").lines == ["nothing plays"] }
    try endDaemon()
  }

  @Test("a daemon that ends meanwhile is an error of one line, and the terminal is as before")
  func daemonEnds() throws {
    let player = try play()
    try endDaemon()
    let outcome = try player.finish()
    #expect(outcome.status == 1 && outcome.errorLines.count <= 1 && player.terminalIsCooked, "\(outcome)")
    #expect((outcome.output + outcome.errors).contains("the daemon has closed the connection"), "\(outcome)")
  }

  @Test("brought back by fg they act again, also after the process has gone on in the background")
  func foreground() throws {
    let line = """
      set -m
      $ROOMTONE play music --on kitchen
      echo stopped
      fg
      echo stopped again
      bg
      read word
      fg
      echo over $?
      """
    let shell = try home.startInShell(line, input: .terminal)
    try shell.expect("▶ 1.wav  0:00 / 5:00  1 of 2  volume")
    try shell.type("\u{1A}")
    try shell.expect("stopped")
    try shell.expect("▶ 1.wav")
    try ServeTests.wait("it has the terminal") { !shell.terminalIsCooked }
    try shell.type(" ")
    try shell.expect("⏸ 1.wav")
    try shell.type(" ")
    try shell.expect("▶ 1.wav")
    try shell.type("\u{1A}")
    try shell.expect("stopped again")
    #expect(shell.terminalIsCooked)
    try shell.type("go\n")
    try ServeTests.wait("it has the terminal again") { !shell.terminalIsCooked }
    try shell.type(" ")
    try shell.expect("⏸ 1.wav")
    try shell.type("q")
    try shell.expect("over 0")
    _ = try shell.finish()
    try endDaemon()
  }
}
