import Glibc
import TestTraits
import Testing

@testable import EventLoop

@Suite("calls of file systems that may never answer", .tags(.files))
struct FileCallTests {
  /// Ends of a pipe, of which the reading one blocks: the stand-in for a file system.
  private final class Blocked: Sendable {
    private let ends: (reading: Int32, writing: Int32)

    init() {
      var ends: [Int32] = [0, 0]
      pipe(&ends)
      self.ends = (ends[0], ends[1])
    }

    deinit {
      close(ends.reading)
      close(ends.writing)
    }

    /// Returns a byte, when there is one.
    func read() -> UInt8 {
      var byte: UInt8 = 0
      _ = Glibc.read(ends.reading, &byte, 1)
      return byte
    }

    func release() { _ = write(ends.writing, [7], 1) }
  }

  private static let table = """
    24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
    25 24 0:5 / /proc rw - proc proc rw
    60 24 0:50 / /mnt/nas rw,relatime - nfs4 nas:/music rw,vers=4.2
    61 60 8:2 / /mnt/nas/usb rw - ext4 /dev/sdb1 rw
    62 24 0:52 / /mnt/my\\040disk rw - fuse.sshfs me@host: rw
    63 24 0:53 / /mnt/old rw - nfs nas:/old rw
    64 24 8:3 / /mnt/old rw - ext4 /dev/sdc1 rw
    """

  @Test(
    "the remote mount of a path is found by its name",
    arguments: [
      ("/mnt/nas/a.mp3", "nas:/music"), ("/mnt/nas", "nas:/music"), ("/mnt/./x/../nas/a", "nas:/music"),
      ("/mnt/nasty/a.mp3", nil), ("/mnt/nas/usb/a.mp3", "nas:/music"), ("/mnt/my disk/a.mp3", "me@host:"),
      ("/mnt/old/a.mp3", nil), ("/home/music/a.mp3", "nas:/music"), ("/home/there/a.mp3", "nas:/music"),
      ("/home/loop/a.mp3", nil), ("/", nil), ("", nil),
    ])
  func mounts(path: String, source: String?) {
    let links = ["/home/music": "/mnt/nas", "/home/there": "../mnt/nas", "/home/loop": "loop"]
    let found = MountTable(Self.table).remoteMount(of: path) { place in
      #expect(place != "/mnt/nas" && !place.hasPrefix("/mnt/nas/"), "the mount would be asked")
      return links[place]
    }
    #expect(found?.source == source)
  }

  @Test("a call is waited for no longer than its limit, and its result counts when it is in time")
  func limit() throws {
    let blocked = Blocked()
    let call = try FileCall { blocked.read() }
    #expect(try call.wait(atMost: .milliseconds(50)) == nil)
    blocked.release()
    #expect(try call.wait(atMost: .seconds(60)) == 7)
    #expect(throws: SystemError(ENOENT)) {
      try FileCall<Int> { throw SystemError(ENOENT) }.wait(atMost: .seconds(60))
    }
  }

  @Test("a loop runs on while a call of it is not answered, and resumes without the value at the limit")
  func loopRunsOn() {
    let loop = EventLoop()
    let blocked = Blocked()
    var (turns, answers) = (0, [UInt8?]())
    func turn() {
      turns += 1
      if answers.isEmpty { loop.after(.milliseconds(5)) { turn() } }
    }
    turn()
    loop.start {
      answers.append(try? await loop.callFiles(atMost: .milliseconds(200)) { blocked.read() })
      blocked.release()
      answers.append(try? await loop.callFiles(atMost: .seconds(60)) { 8 })
    }
    _ = loop.run(until: { answers.count == 2 })
    #expect(answers == [nil, 8])
    #expect(turns > 5)
    loop.close()
  }

  @Test("a watch reports the first call that lasts longer than the limit, once")
  func watch() throws {
    let loop = EventLoop()
    let (calls, blocked) = (FileCalls(), Blocked())
    var silences = 0
    let watch = FileWatch(calls, on: loop, limit: .seconds(60)) { silences += 1 }
    let thread = TestThread {
      _ = calls.call { 1 }
      _ = calls.call { blocked.read() }
    }
    watch.shorten(to: .milliseconds(50))
    _ = loop.run(until: { silences == 1 })
    // The timers do not keep the loop alive.
    let wait = loop.hold("the test waits")
    loop.after(.milliseconds(150)) { wait.release() }
    drain(loop)
    #expect(silences == 1)
    blocked.release()
    thread.join()
    loop.close()
  }
}
