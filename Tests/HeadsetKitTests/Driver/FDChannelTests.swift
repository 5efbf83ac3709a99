import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import HeadsetKit
@testable import HeadsetLink

@Suite("Channels over descriptors", .tags(.headset, .link)) struct FDChannelTests {
  /// All byte values, over and over.
  private func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
  }

  private func hear(_ channel: any LinkChannel) -> Heard {
    let heard = Heard()
    channel.deliver(to: LinkReceiver(bytes: { heard.bytes += $0 }, end: { heard.ends.append($0.words) }))
    return heard
  }

  /// A write without waiting; -1 when the descriptor takes nothing.
  private func put(_ bytes: [UInt8], into fd: Int32) -> Int { Glibc.write(fd, bytes, bytes.count) }

  /// Reads without waiting, at most `count` bytes.
  private func get(_ count: Int, from fd: Int32) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(Glibc.recv(fd, buffer.baseAddress, count, Int32(MSG_DONTWAIT)), 0)
    }
  }

  @Test("bytes come through in both directions, however large and however slowly they are read")
  func sockets() throws {
    let loop = EventLoop()
    let ends = try Descriptors.sockets()
    // Room for a part of what is sent.
    var room: Int32 = 4_096
    setsockopt(ends.one, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    try loop.finish { [self] in
      let channel = try FDChannel(owning: ends.one, loop: loop)
      let heard = hear(channel)
      let sent = pattern(60_000)
      for part in stride(from: 0, to: sent.count, by: 10_000) {
        channel.send(Array(sent[part..<(part + 10_000)]))
      }
      #expect(put(pattern(5_000), into: ends.other) == 5_000)
      var received: [UInt8] = []
      try await loop.wait {
        received += get(777, from: ends.other)
        return received.count >= sent.count
      }
      #expect(received == sent)
      try await loop.wait { heard.bytes.count >= 5_000 }
      #expect(heard.bytes == pattern(5_000))
      #expect(heard.ends.isEmpty)
      channel.close()
      close(ends.other)
    }
  }

  @Test("a side that does not read what is sent is closed, once") func queue() throws {
    let loop = EventLoop()
    let ends = try Descriptors.sockets()
    try loop.finish { [self] in
      let channel = try FDChannel(owning: ends.one, loop: loop)
      let heard = hear(channel)
      // The system's buffer and the queue take something below 1 MB.
      for _ in 0..<1_000 { channel.send(pattern(10_000)) }
      #expect(heard.ends.isEmpty, "not told in the middle of sending")
      try await loop.wait { !heard.ends.isEmpty }
      #expect(heard.ends == ["the other side does not accept the bytes that are sent"])
      close(ends.other)
    }
  }

  @Test("the end of the other side is reported once, after its last bytes") func end() throws {
    let loop = EventLoop()
    let ends = try Descriptors.sockets()
    try loop.finish { [self] in
      let channel = try FDChannel(owning: ends.one, loop: loop)
      let heard = hear(channel)
      #expect(put(pattern(100), into: ends.other) == 100)
      close(ends.other)
      try await loop.wait { !heard.ends.isEmpty }
      #expect(heard.bytes == pattern(100))
      channel.send([1])
      try await loop.sleep(for: .milliseconds(5))
      #expect(heard.ends == ["the other side closed it"])
    }
  }

  @Test("sending to a side that is gone raises no signal, and reports the end") func gone() throws {
    let loop = EventLoop()
    let ends = try Descriptors.sockets()
    close(ends.other)
    try loop.finish { [self] in
      let channel = try FDChannel(owning: ends.one, loop: loop)
      let heard = hear(channel)
      channel.send([1])
      try await loop.wait { !heard.ends.isEmpty }
      #expect(heard.ends == ["the other side closed it"])
    }
  }

  @Test("nothing is reported after close, not even an end that has come already") func closed() throws {
    let loop = EventLoop()
    let ends = try Descriptors.sockets()
    close(ends.other)
    try loop.finish { [self] in
      let channel = try FDChannel(owning: ends.one, loop: loop)
      let heard = hear(channel)
      channel.send([1])  // notes the end
      channel.close()
      channel.close()
      try await loop.sleep(for: .milliseconds(5))
      #expect(heard.ends.isEmpty)
    }
  }

  @Test("a channel closes its descriptor when deallocated") func letGo() throws {
    let loop = EventLoop()
    let ends = try Descriptors.sockets()
    _ = try FDChannel(owning: ends.one, loop: loop)
    // The number itself may be another test's by now.
    var byte: UInt8 = 0
    #expect(read(ends.other, &byte, 1) == 0)
    close(ends.other)
  }

  @Test("a terminal passes all bytes as they are, in both directions, and reports when its other side goes")
  func terminal() throws {
    let loop = EventLoop()
    let (master, path) = try Descriptors.terminal()
    // As terminals are at first: echoing, with line ends and signals.
    let every = (0...255).map { UInt8($0) } + [3, 4, 17, 19, 26, 10, 13, 127]
    try loop.finish { [self] in
      let host = try await LinkAddress.serial(path: path, baud: 115_200).connect(loop)
      let board = try FDChannel(owning: master, loop: loop)
      let (hostHeard, boardHeard) = (hear(host), hear(board))
      host.send(every)
      board.send(every + every)
      try await loop.wait { boardHeard.bytes.count >= 264 && hostHeard.bytes.count >= 528 }
      #expect(boardHeard.bytes == every)
      #expect(hostHeard.bytes == every + every)
      board.close()
      try await loop.wait { !hostHeard.ends.isEmpty }
      #expect(hostHeard.ends == ["the other side closed it"])
    }
  }

  @Test("the terminal's master is notified when the host goes") func hostGoes() throws {
    let loop = EventLoop()
    let (master, path) = try Descriptors.terminal()
    try loop.finish { [self] in
      let host = try await LinkAddress(parsing: "serial:\(path)@9600").connect(loop)
      let board = try FDChannel(owning: master, loop: loop)
      let heard = hear(board)
      host.close()
      try await loop.wait { !heard.ends.isEmpty }
      #expect(heard.ends == ["the other side closed it"])
    }
  }
}

@Suite("Channels in a process", .tags(.headset, .link)) struct MemoryChannelTests {
  @Test("bytes come in order, in turns of their own") func bytes() throws {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    let (one, other) = MemoryChannel.pair(loop: loop)
    let heard = Heard()
    other.deliver(to: LinkReceiver(bytes: { heard.bytes += $0 }))
    try loop.finish {
      one.send([1, 2])
      one.send([])
      one.send([3])
      #expect(heard.bytes.isEmpty)
      try await loop.sleep(for: .milliseconds(1))
      #expect(heard.bytes == [1, 2, 3])
    }
  }

  @Test("the end is reported to the other side alone, after the bytes sent") func end() throws {
    let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))
    let (one, other) = MemoryChannel.pair(loop: loop)
    let (mine, theirs) = (Heard(), Heard())
    one.deliver(to: LinkReceiver(end: { mine.ends.append($0.words) }))
    other.deliver(
      to: LinkReceiver(bytes: { theirs.bytes += $0 }, end: { theirs.ends.append($0.words) }))
    try loop.finish {
      one.send([1])
      one.close()
      other.send([2])
      one.send([3])
      try await loop.sleep(for: .milliseconds(1))
      #expect(theirs.bytes == [1])
      #expect(theirs.ends == ["the other side closed it"])
      #expect(mine.ends.isEmpty)
    }
  }
}

/// The bytes and ends that a channel has reported.
private final class Heard {
  var bytes: [UInt8] = []
  var ends: [String] = []
}
