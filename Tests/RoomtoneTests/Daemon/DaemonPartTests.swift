import EventLoop
import TestTraits
import Testing

@testable import Roomtone

@Suite(.tags(.log, .limits)) struct LogLimitTests {
  @Test("a flood is limited to its burst and then to its rate, and the lines left out are counted once")
  func flood() {
    var limit = LogLimit()
    let admitted = (0..<1000).count { _ in limit.admit(10, at: .start) }
    #expect(admitted == Int(LogLimit.burst))
    #expect(limit.drain() == 1000 - admitted && limit.drain() == 0)
    let later = Instant.start.advanced(by: .seconds(1))
    #expect((0..<1000).count { _ in limit.admit(10, at: later) } == Int(LogLimit.perSecond))
    #expect(!limit.isRested(at: later))
    _ = limit.drain()
    #expect(limit.isRested(at: later.advanced(by: .seconds(20))))
  }

  @Test("long lines are limited by their bytes")
  func bytes() {
    var limit = LogLimit()
    let size = 10_000
    let admitted = (0..<100).count { _ in limit.admit(size, at: .start) }
    #expect(admitted == Int(LogLimit.byteBurst) / size)
    let isShortAdmitted = limit.admit(10, at: .start)
    #expect(isShortAdmitted)
    let later = Instant.start.advanced(by: .seconds(10))
    let next = (0..<100).count { _ in limit.admit(size, at: later) }
    #expect(next == 8)
    _ = limit.drain()
    #expect(!limit.isRested(at: later.advanced(by: .seconds(2))))
    #expect(limit.isRested(at: later.advanced(by: .seconds(20))))
  }

  @Test("a message without end is cut, and the last lines stay in the log")
  func longMessage() throws {
    let harness = try DaemonHarness([
      ("a.lua", "print 'short' print(('x'):rep(10000000)) require 'log'.info('f', { a = ('y'):rep(100000) })")
    ])
    try harness.begin()
    let kept = harness.daemon.log.kept.filter { $0.script == "a" && $0.level != .warn }
    #expect(kept.map(\.message).first == "short" && kept.count == 3)
    let cut = " (\(10_000_000 - DaemonLog.longestMessage) bytes more)"
    #expect(kept[1].message.hasSuffix(cut) && kept[1].message.utf8.count < DaemonLog.longestMessage + 100)
    #expect(kept[2].fields.first.map { $0.1.utf8.count < DaemonLog.longestMessage + 100 } == true)
  }
}

@Suite(.tags(.daemon)) struct FolderChangesTests {
  @Test("files of the folder are scripts; those with _ in front, and those below, are libraries")
  func kinds() {
    var changes = FolderChanges()
    for name in ["a.lua", "_b.lua", ".c.lua", "d.lua~", ".lua", "readme"] {
      changes.add(name, in: "/s", root: "/s")
    }
    changes.add("util.lua", in: "/s/_lib", root: "/s")
    changes.add("notes.txt", in: "/s/_lib", root: "/s")
    #expect(changes.scripts == ["a"] && changes.libraries == ["/s/_b.lua", "/s/_lib/util.lua"])
  }
}

@Suite(.tags(.daemon)) struct ServiceNotifierTests {
  @Test("notifications are lines of the protocol, a status on one line")
  func text() {
    #expect(ServiceNotifier.Notification.reloading(microseconds: 7).text == "RELOADING=1\nMONOTONIC_USEC=7")
    #expect(ServiceNotifier.Notification.status("a\nb").text == "STATUS=a\\nb")
  }

  @Test("the watchdog is told at half of its time, and only by the process that it watches")
  func watchdog() {
    func interval(_ time: String?, _ process: String?, socket: String? = "@x") -> Duration? {
      ServiceNotifier(socket: socket, watchdogMicroseconds: time, watchdogProcess: process).watchdogInterval
    }
    #expect(interval("30000000", nil) == .seconds(15))
    #expect(interval("30000000", "1") == nil && interval("x", nil) == nil && interval(nil, nil) == nil)
    #expect(interval("30000000", nil, socket: nil) == nil && interval("1", nil, socket: "vsock:2:1") == nil)
  }
}
