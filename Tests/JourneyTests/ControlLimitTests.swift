import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

/// Other users, and a daemon without descriptors.
@Suite("the control socket at its limits", .waiting, .tags(.control, .hostile)) struct ControlLimitTests {
  @Test(
    "a process of another user is refused, even where the files let it through",
    .enabled(if: getuid() == 0, "only root can become another user"))
  func otherUser() throws {
    let (home, process) = try ServeTests.serve([])
    for name in ["", "runtime", "runtime/roomtone"] { chmod(home.path(name), 0o755) }
    chmod(home.path("runtime/roomtone/control.sock"), 0o666)
    // A copy: the folders above the program need not be open to others.
    try Command.succeed("cp", [try Home.executable(), home.path("client")])
    chmod(home.path("client"), 0o755)
    let outcome = try home.startInShell(
      "exec setpriv --reuid=65534 --regid=65534 --clear-groups ./client ctl status"
    ).finish()
    #expect(
      outcome.status == 1 && outcome.errors.contains("this house is another user's"), "\(outcome)")
    #expect(try home.run("ctl", "status").status == 0)
    process.send(SIGTERM)
    _ = try process.finish()
  }

  @Test(
    "a command hands nothing to a socket that another user has put there",
    .enabled(if: getuid() == 0, "only root can become another user"))
  func otherUsersSocket() throws {
    let home = try Home()
    mkdir(home.path("runtime/roomtone"), 0o777)
    for name in ["", "runtime"] { chmod(home.path(name), 0o755) }
    chmod(home.path("runtime/roomtone"), 0o777)
    let path = home.path("runtime/roomtone/control.sock")
    let listener = try home.startInShell(
      """
      exec setpriv --reuid=65534 --regid=65534 --clear-groups perl -e '
        use IO::Socket::UNIX;
        my $server = IO::Socket::UNIX->new(Local => "\(path)", Listen => 5) or die "no socket: $!";
        $| = 1; print "listens\\n";
        while (my $client = $server->accept) { my $line = <$client>; print "got $line"; }
      '
      """)
    try listener.expect("listens")
    try home.script("print 'a secret'", as: "secret.lua")
    for words in [["ctl", "eval", "secret"], ["run", "secret.lua"], ["volume", "kitchen", "3"], ["now"]] {
      let outcome = try home.start(words).finish()
      #expect(outcome.status == 1 && outcome.output == "", "\(words): \(outcome)")
      #expect(outcome.errors.contains("is not this user's"), "\(words): \(outcome)")
    }
    listener.send(SIGTERM)
    #expect(try !listener.finish().output.contains("secret"))
  }

  @Test("a daemon that is silent is given up after ten seconds, in words")
  func silent() throws {
    let (home, process) = try ServeTests.serve([])
    process.send(SIGSTOP)
    let start = ContinuousClock.now
    let commands = try [["ctl", "status"], ["now"], ["run", "-e", "print(1)"], ["ctl", "log", "--follow"]].map
    {
      try home.start($0)
    }
    for command in commands {
      let outcome = try command.finish()
      #expect(outcome.status == 1 && outcome.output == "", "\(outcome)")
      #expect(
        outcome.errors.contains("the daemon (process \(process.process)) has not answered for 10 s"),
        "\(outcome)")
    }
    #expect(ContinuousClock.now - start > .seconds(9))
    process.send(SIGCONT)
    #expect(try home.run("ctl", "status").status == 0)
    process.send(SIGTERM)
    _ = try process.finish()
  }

  @Test("a daemon without a free descriptor rests until there is one")
  func descriptors() throws {
    let home = try Home()
    mkdir(home.path("scripts"), 0o700)
    let process = try home.startInShell("ulimit -n 64; exec $ROOMTONE serve --output null scripts")
    try ServeTests.awaitAnswer(home)
    let path = home.path("runtime/roomtone/control.sock")
    // More than the daemon accepts; the kernel keeps the others waiting.
    let crowd = try (0..<100).map { _ in try SocketClient(path) }
    try ServeTests.wait("no descriptor is free") {
      try LinuxFiles.names(in: "/proc/\(process.process)/fd").count >= 60
    }
    usleep(300_000)
    let before = try Self.processorTime(of: process.process)
    usleep(1_000_000)
    // One that is told of a waiting client again and again takes the whole second.
    #expect(try Self.processorTime(of: process.process) - before < 0.5)
    for client in crowd { client.close() }
    try ServeTests.awaitAnswer(home)
    process.send(SIGTERM)
    _ = try process.finish()
  }

  /// Returns the seconds of processor time that a process has used. Source: proc(5), the fields 14 and 15 of stat.
  private static func processorTime(of process: pid_t) throws -> Double {
    let text = String(decoding: try readBytes("/proc/\(process)/stat"), as: UTF8.self)
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    let ticks = fields[12...13].compactMap { Double($0) }
    return ticks.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
