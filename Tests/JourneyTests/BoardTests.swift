import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HeadsetKit
@testable import HeadsetLink

/// A `roomtone board` that listens.
private final class RunningBoard {
  let command: RunningCommand
  /// Address that the board printed.
  let address: LinkAddress

  init(_ home: Home, listen: String, _ arguments: String...) throws {
    command = try home.start(["board", "--listen", listen] + arguments, input: .pipe)
    try command.expect("listening on ")
    address = try LinkAddress(parsing: command.consume(upTo: "\n"))
  }

  /// Returns the board's state, as JSON without its opening brace.
  func state() throws -> String {
    try command.type("state\n")
    try command.expect("{")
    return try command.consume(upTo: "}\n")
  }

  /// Runs `body` as a connected host.
  func withHost(
    _ key: LinkKey = .development, _ body: @escaping (HBPDriver, EventLoop) async throws -> Void
  ) throws {
    let loop = EventLoop()
    let driver = HBPDriver(address: address, key: key, loop: loop)
    try loop.finish {
      _ = try await driver.connect()
      try await body(driver, loop)
    } last: {
      await driver.disconnect()
    }
  }
}

extension EventLoop {
  /// Connects again once the board is back.
  /// - Throws: `TestFailure` after 30 s.
  fileprivate func reconnect(_ driver: HBPDriver) async throws -> BoardInfo {
    let deadline = now.advanced(by: .seconds(30))
    while true {
      if let info = try? await driver.connect() { return info }
      guard now < deadline else { throw TestFailure("the board does not come back") }
      try await sleep(for: .milliseconds(20))
    }
  }
}

@Suite("roomtone board", .waiting, .tags(.board, .headset)) struct BoardTests {
  private func mode(_ path: String) -> (kind: mode_t, rights: mode_t)? {
    var status = stat()
    return lstat(path, &status) == 0 ? (status.st_mode & S_IFMT, status.st_mode & 0o777) : nil
  }

  @Test(
    "serves a host at a socket, a port and a pseudo-terminal, until a signal",
    arguments: [
      ("unix:board.sock", SIGTERM), ("tcp:127.0.0.1:0", SIGINT), ("tcp:[::1]:0", SIGTERM), ("pty", SIGINT),
    ])
  func serves(listen: String, signal: Int32) throws {
    let home = try Home()
    // The test has another working directory than the board.
    let listen = listen.hasPrefix("unix:") ? "unix:" + home.path("board.sock") : listen
    let board = try RunningBoard(home, listen: listen)
    try board.withHost { driver, loop async throws in
      _ = try await driver.request(SetNoiseCancelling(true))
      _ = try await driver.request(SetEqualizerBand(preset: 0, band: 9, value: -9))
      var events: [DriverEvent] = []
      driver.onEvent { events.append($0) }
      try board.command.type("ambient left 3\nbattery 25\n")
      let deadline = loop.now.advanced(by: .seconds(30))
      // The event of the change before may come first.
      while events.last != .battery(percent: 25, isCharging: false), loop.now < deadline {
        try await loop.sleep(for: .milliseconds(5))
      }
      #expect(events.suffix(2) == [.ambient(.left, 3), .battery(percent: 25, isCharging: false)])
      #expect(try await driver.request(GetAmbient(.left)).level == 3)
    }
    let state = try board.state()
    #expect(state.contains("\"noise_cancelling\": true"))
    #expect(state.contains("\"equalizer\": [[4, 3, 2, 0, -1, 0, 1, 2, 3, -9]"))
    #expect(state.contains("\"ambient\": {\"left\": 3, \"right\": 0}"))
    #expect(state.contains("\"battery\": {\"percent\": 25, \"charging\": false}"))
    // Another host, after the first.
    try board.withHost { driver, _ in _ = try await driver.request(Ping()) }
    board.command.send(signal)
    let outcome = try board.command.finish()
    #expect(outcome.status == 128 + signal)
    #expect(outcome.failures.isEmpty)
    #expect(outcome.errorLines.first?.contains("development key") == true)
    #expect(outcome.errors.contains("info: authenticated\n"))
    #expect(mode(home.path("board.sock")) == nil, "the socket is removed")
  }

  @Test("has a socket for its owner alone, and one host") func owner() throws {
    let home = try Home()
    let board = try RunningBoard(home, listen: "unix:" + home.path("s"), "-q")
    #expect(mode(home.path("s"))?.rights == 0o600)
    try board.withHost { driver, loop async throws in
      let other = HBPDriver(address: board.address, key: .development, loop: loop)
      await #expect(throws: HeadsetError.self) { try await other.connect() }
      _ = try await driver.request(Ping())
    }
    board.command.send(SIGTERM)
    #expect(try board.command.finish().errors == "", "-q logs nothing")
  }

  @Test("replaces the socket of a board that was killed, of no other, and no file") func stale() throws {
    let home = try Home()
    let (path, listen) = (home.path("s"), "unix:" + home.path("s"))
    let killed = try RunningBoard(home, listen: listen)
    killed.command.send(SIGKILL)
    _ = try killed.command.finish()
    #expect(mode(path)?.kind == S_IFSOCK)
    let board = try RunningBoard(home, listen: listen)
    let second = try home.run("board", "--listen", listen, "-q")
    #expect(second.status == 1)
    #expect(second.errorLines.count == 1)
    #expect(second.errors.contains("something listens at \(path) already (board.listen)"))
    try board.withHost { driver, _ in _ = try await driver.request(Ping()) }

    try home.write([1, 2, 3], to: "file")
    #expect(symlink(home.path("file"), home.path("link")) == 0)
    for name in ["file", "link"] {
      let outcome = try home.run("board", "--listen", "unix:" + home.path(name), "-q")
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains("exists and is not a socket"))
    }
    #expect(try readBytes(home.path("file")) == [1, 2, 3])
    #expect(mode(home.path("link"))?.kind == S_IFLNK)
  }

  @Test("leaves a socket alone that replaced its own") func replaced() throws {
    let home = try Home()
    let board = try RunningBoard(home, listen: "unix:" + home.path("s"))
    #expect(rename(home.path("s"), home.path("old")) == 0)
    let other = try RunningBoard(home, listen: "unix:" + home.path("s"))
    board.command.send(SIGTERM)
    _ = try board.command.finish()
    try other.withHost { driver, _ in _ = try await driver.request(Ping()) }
  }

  @Test("on a pseudo-terminal hosts come and go unseen, and it falls silent while it starts") func line()
    throws
  {
    let home = try Home()
    let board = try RunningBoard(home, listen: "pty:" + home.path("tty"))
    #expect(board.address == .serial(path: home.path("tty"), baud: 115_200))
    for _ in 0..<3 {
      try board.withHost { driver, loop async throws in
        _ = try await driver.request(Ping())
        driver.drop()
        let boots = try await loop.reconnect(driver).boots
        _ = try await driver.request(Reboot(.application))
        var info = try await loop.reconnect(driver)
        // The first connection may precede the reboot.
        while info.boots == boots { info = try await loop.reconnect(driver) }
        #expect(info.boots == boots + 1)
      }
    }
    // Unread output is not kept without a limit.
    try board.withHost { driver, _ in driver.drop() }
    for level in 0..<4_000 { try board.command.type("ambient left \(level % 2)\n") }
    #expect(try board.state().contains("\"left\": 1"))
    try board.withHost { driver, _ in _ = try await driver.request(Ping()) }
    board.command.send(SIGTERM)
    #expect(try board.command.finish().status == 143)
    #expect(mode(home.path("tty")) == nil, "the link is removed")
  }

  @Test("shares with its hosts a secret that no one else may read") func key() throws {
    let home = try Home()
    try home.write(Array((String(repeating: "5a", count: 32) + "\n").utf8), to: "key")
    chmod(home.path("key"), 0o644)
    let open = try home.run("board", "--listen", "unix:" + home.path("s"), "--key-file", home.path("key"))
    #expect(open.status == 1 && open.errors.contains("chmod 600"))
    chmod(home.path("key"), 0o600)
    let board = try RunningBoard(
      home, listen: "unix:" + home.path("s"), "--key-file", home.path("key"))
    let key = try LinkKey(file: home.path("key"))
    try board.withHost(key) { driver, _ in _ = try await driver.request(Ping()) }
    #expect { try board.withHost { _, _ in } } throws: { ($0 as? HeadsetError)?.kind == .auth }
    board.command.send(SIGTERM)
    #expect(try !board.command.finish().errors.contains("development key"))
  }

  @Test("loses its power on demand, and resumes from its folder") func power() throws {
    let home = try Home()
    let listen = "unix:" + home.path("s")
    var random = SeededRandom(seed: 4)
    let file = try FirmwareFile(
      image: random.bytes(20_000), model: "RT-1", version: #require(FirmwareVersion("2.1")), key: .development
    )
    let arguments = ["--state", home.path("board"), "--ready-after", "100"]

    /// Runs the update up to the reboot; returns the offset at which it began.
    func update(_ driver: HBPDriver, _ loop: EventLoop) async throws -> Int {
      let delay = try await driver.request(EnterBootloader()).milliseconds
      try await loop.sleep(for: .milliseconds(delay))
      _ = try await loop.reconnect(driver)
      let plan = try await driver.request(BeginTransfer(manifest: file.manifest.bytes))
      var offset = Int(plan.resumeOffset)
      while offset < file.image.count {
        let data = Array(file.image[offset..<min(offset + Int(plan.chunk), file.image.count)])
        _ = try await driver.request(
          WriteTransfer(transfer: plan.transfer, offset: UInt32(offset), data: data))
        offset += data.count
      }
      _ = try await driver.request(VerifyTransfer(plan.transfer))
      _ = try await driver.request(CommitTransfer(plan.transfer))
      _ = try await driver.request(Reboot(.application))
      return Int(plan.resumeOffset)
    }

    let dying = try RunningBoard(
      home, listen: listen, arguments[0], arguments[1], arguments[2], arguments[3], "--fault", "die-journal=4"
    )
    #expect(throws: HeadsetError.self) { try dying.withHost { _ = try await update($0, $1) } }
    #expect(try dying.command.finish().status == 9)

    let board = try RunningBoard(home, listen: listen, arguments[0], arguments[1], arguments[2], arguments[3])
    #expect(try board.state().contains("\"version\": \"1.0.0\", \"mode\": \"application\""))
    let twin = try home.run("board", "--listen", "pty", arguments[0], arguments[1])
    #expect(twin.status == 1 && twin.errors.contains("belongs to another board that runs (board.state)"))
    try board.withHost { driver, loop async throws in
      // Two units were flushed and reported; the third was written, and is written again.
      #expect(try await update(driver, loop) == 8_192)
      var info = try await loop.reconnect(driver)
      while info.firmwareVersion != "2.1" { info = try await loop.reconnect(driver) }
      _ = try await driver.request(ConfirmImage())
    }
    let state = try board.state()
    let hash = SHA256.hash(file.image).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(
      state.contains(
        "\"confirmed\": {\"slot\": \"b\", \"version\": \"2.1\", \"sha256\": \"\(hash)\", \"whole\": true}"))
    #expect(state.contains("\"trial\": null"))
    #expect(try readBytes(home.path("board/slot-b.img")).prefix(20_000) == file.image[...])
    board.command.send(SIGTERM)
    #expect(try board.command.finish().errors.contains("info: update: 2.1 is confirmed\n"))
  }

  @Test("reports what is wrong with a damaged state, and leaves it") func damaged() throws {
    let home = try Home()
    #expect(mkdir(home.path("board"), 0o700) == 0)
    try home.write([1, 2, 3], to: "board/boot")
    let outcome = try home.run("board", "--listen", "pty", "-q", "--state", home.path("board"))
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains("the file boot of the board's state is damaged"))
    #expect(try readBytes(home.path("board/boot")) == [1, 2, 3])
  }

  @Test(
    "called with a mistake reports it in one line, with a suggestion",
    arguments: [
      (["--listen", "foo"], "a board can't listen at \"foo\""), ([], "board needs --listen ADDRESS"),
      (["--listen", "tcp:0.0.0.0:80"], "a board can't listen at"),
      (["--listen", "pty", "--fault", "drp=1"], "did you mean drop?"),
      (["--listen", "pty", "--profile", "one-bands"], "did you mean 'one-band'?"),
      (["--listen", "pty", "--battery", "101"], "is not a whole number from 0 to 100"),
      (["--listen", "pty", "--version", "new"], "'new' is not a version"),
    ])
  func usage(arguments: [String], expected: String) throws {
    let home = try Home()
    let outcome = try withExtendedLifetime(home) { try home.start(["board"] + arguments).finish() }
    #expect(outcome.status == 2)
    #expect(outcome.errorLines.count == 1)
    #expect(outcome.errors.contains(expected), "\(outcome)")
  }

  @Test("reports an impossible gesture to the wearer, and continues") func wearer() throws {
    let home = try Home()
    let board = try RunningBoard(home, listen: "pty", "--profile", "no-ambient")
    try board.command.type("nois on\nambient left 1\n\nnoise on\n")
    #expect(try board.state().contains("\"noise_cancelling\": true"))
    try board.command.expectError("did you mean noise?")
    try board.command.expectError("roomtone: the board can't do that (board.gesture)")
  }
}
