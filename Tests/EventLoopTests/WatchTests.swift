import EventLoop
import Glibc
import TestTraits
import Testing

@Suite(.tags(.loop)) struct WatchTests {
  @Test("a watch of a pipe is notified of data to read and of its end")
  func pipeEnds() throws {
    let loop = EventLoop()
    let ends = openPipe()
    var seen: [String] = []
    var watch: FDWatch?
    watch = try loop.watch(ends[0], for: .readable) { events in
      let text = readText(ends[0])
      seen.append(text)
      switch text {
      case "one": loop.after(.milliseconds(1)) { _ = write(ends[1], "two", 3) }
      case "two": loop.after(.milliseconds(1)) { close(ends[1]) }
      default:
        #expect(events.contains(.hangup))
        watch?.cancel()
      }
    }
    loop.after(.milliseconds(1)) { _ = write(ends[1], "one", 3) }
    #expect(drain(loop) == .idle, "a cancelled watch keeps nothing alive")
    #expect(seen == ["one", "two", ""])
    close(ends[0])
  }

  @Test("several watches on one descriptor are all notified, and end one by one")
  func shared() throws {
    let loop = EventLoop()
    var pair: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    socketpair(AF_UNIX, kind, 0, &pair)
    var seen: [String] = []
    let first = try loop.watch(pair[0], for: .readable) { _ in seen.append("first") }
    var second: FDWatch?
    second = try loop.watch(pair[0], for: .readable) { _ in
      seen.append("second")
      _ = readText(pair[0])
      second?.cancel()
    }
    var writable: FDWatch?
    writable = try loop.watch(pair[0], for: .writable) { events in
      seen.append("writable \(events == .writable)")
      writable?.cancel()
      _ = write(pair[1], "x", 1)
    }
    #expect(loop.run(until: { seen.count == 3 }) == .done)
    #expect(seen == ["writable true", "first", "second"])
    first.cancel()
    #expect(drain(loop) == .idle)
    for fd in pair { close(fd) }
  }

  @Test("a watch that does not keep the loop alive is still notified")
  func background() throws {
    let loop = EventLoop()
    let pipe = Pipe()
    var seen = ""
    let watch = try loop.watch(pipe.reading, for: .readable, keepsAlive: false) { _ in
      seen += pipe.receive()
    }
    #expect(drain(loop) == .idle)
    pipe.send("late")
    #expect(drain(loop) == .idle)
    #expect(seen == "late" && watch.isActive)
  }

  @Test("a regular file is always ready, and alternates with other work")
  func regularFile() throws {
    let loop = EventLoop()
    var name = Array("/tmp/roomtone-loop-XXXXXX".utf8CString)
    let fd = mkstemp(&name)
    unlink(name)
    _ = write(fd, "abcdef", 6)
    lseek(fd, 0, SEEK_SET)
    var seen = ""
    var watch: FDWatch?
    watch = try loop.watch(fd, for: .readable) { _ in
      let text = readText(fd, limit: 1)
      seen += text
      if text.isEmpty { watch?.cancel() } else { loop.next { seen += "." } }
    }
    #expect(drain(loop) == .idle)
    #expect(seen == "a.b.c.d.e.f.")
    close(fd)
  }

  @Test("a regular file that is never read lets timers come")
  func regularFileStarves() throws {
    let loop = EventLoop()
    let fd = open("/proc/self/exe", O_RDONLY)
    var calls = 0
    let watch = try loop.watch(fd, for: .readable) { _ in calls += 1 }
    loop.after(.milliseconds(3)) { watch.cancel() }
    #expect(drain(loop) == .idle)
    #expect(calls > 1)
    close(fd)
  }

  @Test("a descriptor that is none is refused")
  func refused() throws {
    let loop = EventLoop()
    let error = #expect(throws: LoopError.self) { _ = try loop.watch(-1, for: .readable) { _ in } }
    #expect(error?.code == "loop.descriptor" && error?.errno == EBADF)
    #expect(drain(loop) == .idle)
  }

  @Test("under virtual time descriptors are served before time moves")
  func virtual() throws {
    let loop = virtualLoop()
    let pipe = Pipe()
    var seen: [String] = []
    loop.after(.seconds(1)) { seen.append("timer") }
    pipe.send("x")
    var watch: FDWatch?
    watch = try loop.watch(pipe.reading, for: .readable) { _ in
      seen.append(pipe.receive())
      watch?.cancel()
    }
    #expect(drain(loop) == .idle)
    #expect(seen == ["x", "timer"])
  }

  @Test("the closures of watches go with their loop")
  func release() throws {
    final class Witness {}
    weak var held: Witness?
    let pipe = Pipe()
    do {
      let loop = EventLoop()
      let witness = Witness()
      held = witness
      var watch: FDWatch?
      watch = try loop.watch(pipe.reading, for: .readable) { _ in _ = (witness, watch) }
      #expect(watch?.isActive == true)
    }
    #expect(held == nil)
  }
}

@Suite(.tags(.loop)) struct SignalTests {
  @Test("signals come to the loop, and have their usual action again after cancel")
  func signals() {
    let isShown = Counter()
    let thread = TestThread {
      var mask = sigset_t()  // the threads of the test runner block nearly all signals
      pthread_sigmask(SIG_SETMASK, &mask, nil)
      let loop = EventLoop()
      var seen: [Int32] = []
      do {
        let watch = try loop.onSignal([SIGUSR1, SIGUSR2], keepsAlive: true) { seen.append($0) }
        loop.after(.milliseconds(1)) { pthread_kill(pthread_self(), SIGUSR2) }
        if loop.run(until: { seen == [SIGUSR2] }) == .done { isShown.add() }
        loop.next { raise(SIGUSR1) }
        if loop.run(until: { seen == [SIGUSR2, SIGUSR1] }) == .done { isShown.add() }
        do {
          _ = try loop.onSignal([SIGUSR2]) { _ in }
        } catch let error as LoopError where error.code == "loop.signal" { isShown.add() }
        watch.cancel()
        if drain(loop) == .idle { isShown.add() }
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        if sigismember(&mask, SIGUSR1) == 0, sigismember(&mask, SIGUSR2) == 0 { isShown.add() }
        _ = try loop.onSignal([SIGUSR2]) { _ in }
        isShown.add()
      } catch {}
    }
    thread.join()
    #expect(isShown.value == 6)
  }

  @Test("a number that is no signal is refused")
  func refused() {
    let loop = EventLoop()
    #expect(throws: LoopError.self) { _ = try loop.onSignal([4711]) { _ in } }
  }
}
