package import EventLoop

/// The reason why a channel ended by itself.
package enum LinkEnd: Equatable {
  /// The other end closed it.
  case closed
  /// The system reported this error.
  case failed(String)

  /// The reason, as the end of a sentence: "the link ended: …".
  package var words: String {
    switch self {
    case .closed: "the other side closed it"
    case .failed(let why): why
    }
  }
}

/// The receiver of the bytes of a channel; by default it discards all.
package struct LinkReceiver {
  /// Receives bytes, cut anywhere, in turns of the loop of their own.
  package let bytes: (ArraySlice<UInt8>) -> Void
  /// Called once when the channel ends by itself; never after `close`. Bytes that were sent may be lost.
  package let end: (LinkEnd) -> Void

  package init(
    bytes: @escaping (ArraySlice<UInt8>) -> Void = { _ in }, end: @escaping (LinkEnd) -> Void = { _ in }
  ) {
    (self.bytes, self.end) = (bytes, end)
  }
}

/// A channel for bytes in both directions between the two ends of a link. Confined to a loop.
///
/// The owner closes it.
package protocol LinkChannel: AnyObject {
  /// Passes the bytes that come from now on to `receiver`, in place of an earlier one.
  func deliver(to receiver: LinkReceiver)
  /// Sends bytes, in order, without waiting. Nothing happens when the channel has ended.
  func send(_ bytes: [UInt8])
  /// Ends the channel and releases the receiver; bytes that the system has accepted still arrive.
  func close()
}

/// An end of a channel inside a process, for boards that live in it.
package final class MemoryChannel: LinkChannel {
  private var receiver = LinkReceiver()
  private let loop: EventLoop
  private var isOpen = true
  /// The other end, which its own user keeps alive.
  private weak var peer: MemoryChannel?

  /// Two ends that are connected.
  package static func pair(loop: EventLoop) -> (MemoryChannel, MemoryChannel) {
    let (one, other) = (MemoryChannel(loop), MemoryChannel(loop))
    (one.peer, other.peer) = (other, one)
    return (one, other)
  }

  private init(_ loop: EventLoop) { self.loop = loop }

  deinit { close() }

  package func deliver(to receiver: LinkReceiver) { self.receiver = receiver }

  package func send(_ bytes: [UInt8]) {
    guard isOpen, let peer, !bytes.isEmpty else { return }
    loop.next { if peer.isOpen { peer.receiver.bytes(bytes[...]) } }
  }

  package func close() {
    guard isOpen else { return }
    (isOpen, receiver) = (false, LinkReceiver())
    guard let peer else { return }
    loop.next {
      guard peer.isOpen else { return }
      let receiver = peer.receiver
      (peer.isOpen, peer.receiver) = (false, LinkReceiver())
      receiver.end(.closed)
    }
  }
}
