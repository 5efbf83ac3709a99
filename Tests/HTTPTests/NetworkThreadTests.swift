import EventLoop
import Glibc
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import HTTP

@Suite("The network thread", .waiting, .tags(.http))
struct NetworkThreadTests {
  private let station: Station

  init() throws { station = try Station() }

  @Test("two hundred transfers run side by side on one thread, each with its own bytes")
  func many() throws {
    let live = Live(.noise(seed: 1))
    station.answer("/live", with: .live(live))
    let network = try NetworkThread()
    let threads = Lock(Set<UInt>())
    let recordings = (0..<200).map { _ in
      Recording(onBody: { sum in
        threads.withLock { _ = $0.insert(pthread_self()) }
        return sum < 70_000 ? .more : .pause
      })
    }
    let request = try HTTPRequest(station.url("/live"))
    let transfers = recordings.map { network.start(request, on: $0) }
    for recording in recordings { try recording.wait("70,000 bytes") { $0.body.count >= 70_000 } }
    #expect(station.openConnections == 200)
    #expect(threads.withLock { $0.count } == 1)
    // All begin at a multiple of 1,400, identified by the bytes themselves.
    for recording in recordings {
      let body = recording.body
      let start = station.visits.map(\.start).first {
        live.programme.bytes($0..<$0 + 64) == Array(body.prefix(64))
      }
      #expect(start.map { live.programme.bytes($0..<$0 + body.count) == body } == true)
    }
    for transfer in transfers { transfer.cancel() }
    try eventually("all connections have ended") { station.openConnections == 0 }
    #expect(recordings.allSatisfy { $0.ends.isEmpty })
    network.close()
  }

  @Test("no more than 32 connect at a time, and the next begins when one has ended")
  func connecting() throws {
    let network = try NetworkThread()
    station.answer("/page", with: .page("hello"))
    // A handshake to which the station does not respond.
    var slow = try HTTPRequest(station.url("/").replacing("http:", with: "https:"))
    slow.connectTimeout = .seconds(600)
    let handshakes = (0..<32).map { _ in network.start(slow, on: Recording()) }
    let page = Recording()
    _ = network.start(try HTTPRequest(station.url("/page")), on: page)
    let cancelled = Recording()
    network.start(try HTTPRequest(station.url("/page")), on: cancelled).cancel()
    try eventually("32 are connected") { station.openConnections == 32 }
    usleep(50_000)  // for a 33rd, which must not arrive
    #expect(station.openConnections == 32)
    #expect(station.visits.isEmpty)
    handshakes[7].cancel()
    #expect(try page.waitForEnd() == nil)
    #expect(station.visits.count == 1)
    network.close()
    #expect(cancelled.heads.isEmpty && cancelled.ends.isEmpty)
  }

  @Test("after a cancel from another thread nothing comes any more")
  func cancel() throws {
    station.answer("/live", with: .live(Live(.noise(seed: 2))))
    let network = try NetworkThread()
    for count in [0, 1, 100_000] {
      let isCancelled = Atomic(false)
      let late = Atomic(0)
      let recording = Recording(onBody: { _ in
        if isCancelled.load(ordering: .sequentiallyConsistent) { late.add(1, ordering: .relaxed) }
        return .more
      })
      let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
      try recording.wait { $0.body.count >= count }
      transfer.cancel()
      isCancelled.store(true, ordering: .sequentiallyConsistent)
      transfer.cancel()
      try eventually("the connection has ended") { station.openConnections == 0 }
      // The call under way during `cancel` may have seen the flag, no other.
      #expect(late.load(ordering: .relaxed) <= 1)
      #expect(recording.ends.isEmpty)
    }
  }

  @Test(
    "a receiver that stops hears nothing more, from the head on or from the body on",
    arguments: [true, false])
  func stop(inHead: Bool) throws {
    station.answer("/live", with: .live(Live(.noise(seed: 2))))
    let network = try NetworkThread()
    let recording = Recording(
      onHead: { _ in inHead ? .stop : .more }, onBody: { sum in sum < 50_000 ? .more : .stop })
    let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait { !$0.heads.isEmpty && (inHead || $0.body.count >= 50_000) }
    try eventually("the connection has ended") { station.openConnections == 0 }
    let count = recording.body.count
    transfer.resume()
    transfer.cancel()
    network.close()
    #expect(recording.body.count == count)
    #expect(inHead ? count == 0 : count >= 50_000)
    #expect(recording.ends.isEmpty)
  }

  @Test("a paused transfer holds the server back, and resumes where it was", arguments: [0, 1])
  func pause(chunked: Int) throws {
    let live = Live(Programme(repeating: SeededBytes.make(1_000_003)))
    let answer = Answer.live(live).dropping(at: 8_000_000)
    station.answer("/live", with: chunked == 1 ? answer.chunked(1000) : answer)
    let network = try NetworkThread()
    let isFree = Atomic(false)
    let recording = Recording(onBody: { sum in
      sum >= 10_000 && !isFree.load(ordering: .acquiring) ? .pause : .more
    })
    let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait { $0.body.count >= 10_000 }
    var sent = -1
    try eventually("the station stands still") {
      usleep(20_000)
      defer { sent = station.visits[0].end }
      return sent == station.visits[0].end
    }
    #expect(recording.body.count < 10_000 + 2 * 16_384)
    #expect(station.visits[0].end - station.visits[0].start < 8_000_000)
    #expect(recording.ends.isEmpty)

    // Each resume delivers one more piece, and the next pause.
    let before = recording.body.count
    transfer.resume()
    try recording.wait { $0.body.count > before }
    isFree.store(true, ordering: .releasing)
    transfer.resume()
    let failure = try recording.waitForEnd()
    #expect(failure?.kind == (chunked == 1 ? .reset : nil))  // the drop cuts the chunks off
    let start = station.visits[0].start
    #expect(recording.body == live.programme.bytes(start..<start + 8_000_000))
  }

  @Test("a transfer can be paused at its head")
  func pauseAtHead() throws {
    station.answer("/a", with: .page("hello"))
    let network = try NetworkThread()
    let recording = Recording(onHead: { _ in .pause })
    let transfer = network.start(try HTTPRequest(station.url("/a")), on: recording)
    try recording.wait { !$0.heads.isEmpty }
    usleep(20_000)
    #expect(recording.body.isEmpty && recording.ends.isEmpty)
    transfer.resume()
    #expect(try recording.waitForEnd() == nil)
    #expect(recording.text == "hello")
  }

  @Test("a paused transfer can be cancelled")
  func cancelPaused() throws {
    station.answer("/live", with: .live(Live(.noise(seed: 3))))
    let network = try NetworkThread()
    let recording = Recording(onBody: { _ in .pause })
    let transfer = network.start(try HTTPRequest(station.url("/live")), on: recording)
    try recording.wait { !$0.body.isEmpty }
    transfer.cancel()
    try eventually("the connection has ended") { station.openConnections == 0 }
    #expect(recording.ends.isEmpty)
  }

  @Test("closing ends every transfer, also those that wait, and refuses new ones")
  func close() throws {
    station.answer("/live", with: .live(Live(.noise(seed: 4))))
    let network = try NetworkThread()
    var slow = try HTTPRequest(station.url("/").replacing("http:", with: "https:"))
    slow.connectTimeout = .seconds(600)
    let recordings = (0..<10).map { _ in Recording() }
    let live = try HTTPRequest(station.url("/live"))
    var transfers = recordings[..<4].map { network.start(live, on: $0) }
    for recording in recordings[..<4] { try recording.wait { $0.body.count > 1_000 } }
    let handshakes = (0..<32).map { _ in network.start(slow, on: recordings[4]) }
    transfers += recordings[5...].map { network.start(live, on: $0) }  // no room to connect
    network.close()
    for (index, recording) in recordings.enumerated() where index != 4 {
      #expect(recording.ends.map { $0?.kind } == [.cancelled])
    }
    #expect(recordings[4].ends.count == handshakes.count)
    let late = Recording()
    transfers.append(network.start(live, on: late))
    #expect(late.ends.map { $0?.kind } == [.cancelled])
    for transfer in transfers {
      transfer.cancel()
      transfer.resume()
    }
    network.close()
    try eventually("all connections have ended") { station.openConnections == 0 }
  }

  @Test("a network thread ends when it is deallocated, also by its own receiver")
  func letGo() throws {
    station.answer("/live", with: .live(Live(.noise(seed: 5))))
    let request = try HTTPRequest(station.url("/live"))
    weak var weakRecording: Recording?
    do {
      let recording = Recording()
      weakRecording = recording
      let network = try NetworkThread()
      _ = network.start(request, on: recording)
      try recording.wait { $0.body.count > 1_000 }
    }
    #expect(weakRecording == nil)

    let owner = Owner()
    owner.network.withLock { $0 = try? NetworkThread() }
    _ = owner.network.withLock { $0 }?.start(request, on: owner)
    try eventually("the connection has ended") { station.openConnections == 0 && station.visits.count == 2 }
    try eventually("the end was told") { owner.ends.load(ordering: .relaxed) == 1 }
  }

  /// A receiver that releases the thread which calls it.
  private final class Owner: HTTPReceiver {
    let network = Lock<NetworkThread?>(nil)
    let ends = Atomic(0)
    func receiveHead(_ head: HTTPResponse) -> HTTPFlow { .more }
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow {
      let old = network.withLock { network in
        defer { network = nil }
        return network
      }
      _ = old
      return .more
    }
    func receiveEnd(_ failure: HTTPError?) {
      if failure?.kind == .cancelled { ends.add(1, ordering: .relaxed) }
    }
  }

  @Test("a receiver may start and cancel transfers from its calls")
  func reentrancy() throws {
    station.answer("/a", with: .page("a"))
    station.answer("/b", with: .page("b"))
    let network = try NetworkThread()
    let (first, second) = (try HTTPRequest(station.url("/a")), try HTTPRequest(station.url("/b")))
    let next = Recording()
    let dropped = Recording()
    let recording = Recording(
      onHead: { _ in
        network.start(second, on: dropped).cancel()
        return .more
      },
      onBody: { _ in
        _ = network.start(second, on: next)
        return .more
      })
    _ = network.start(first, on: recording)
    #expect(try recording.waitForEnd() == nil)
    #expect(try next.waitForEnd() == nil)
    #expect(next.text == "b")
    network.close()
    #expect(dropped.heads.isEmpty && dropped.ends.isEmpty)
  }

  @Test("starts and cancels from many threads at once leave nothing behind")
  func storm() throws {
    station.answer("/live", with: .live(Live(.noise(seed: 6))))
    let network = try NetworkThread()
    let request = try HTTPRequest(station.url("/live"))
    let threads = try (0..<4).map { index in
      try TestThread {
        for round in 0..<25 {
          let transfer = network.start(request, on: Recording())
          if round % 3 == index % 3 { usleep(2_000) }
          transfer.setPace(.milliseconds(50))
          transfer.resume()
          transfer.cancel()
        }
      }
    }
    for thread in threads { thread.join() }
    try eventually("all connections have ended") { station.openConnections == 0 }
    network.close()
  }

  @Test("a closed thread leaves no descriptor and no thread")
  func nothingLeft() async {
    await #expect(processExitsWith: .success) {
      let station = try Station()
      station.answer("/live", with: .live(Live(.noise(seed: 7))))
      func count(_ folder: String) throws -> Int {
        try Command.succeed("ls", ["/proc/\(getpid())/\(folder)"]).text.split(separator: "\n").count
      }
      func round() throws {
        let network = try NetworkThread()
        var transfers: [HTTPTransfer] = []
        for path in ["/live", "/live", "/nothing", "/live"] {
          let recording = Recording()
          transfers.append(network.start(try HTTPRequest(station.url(path)), on: recording))
          try recording.wait { !$0.heads.isEmpty }
        }
        _ = try network.get("http://localhost:\(station.port)/nothing")  // with a resolver's thread
        transfers[0].cancel()
        network.close()
        try eventually("all connections have ended") { station.openConnections == 0 }
      }
      try round()  // libcurl and libssl open resources that they keep
      let before = (try count("fd"), try count("task"))
      for _ in 0..<3 { try round() }
      try eventually("threads and descriptors are back") {
        // The station joins the threads of its connections at its own end; they have ended.
        try count("fd") <= before.0 && count("task") <= before.1
      }
    }
  }
}
