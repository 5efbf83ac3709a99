package import EventLoop

/// The reason for which a channel ended by itself.
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

/// Bytes there and back between the two ends of a link. Confined to a loop.
///
/// Whoever has one closes it.
package protocol LinkChannel: AnyObject {
  /// Receives bytes, cut anywhere, in turns of the loop of their own.
  var onBytes: (ArraySlice<UInt8>) -> Void { get set }
  /// Called once when the channel ends by itself; never after `close`. Bytes that were sent may be lost.
  var onEnd: (LinkEnd) -> Void { get set }
  /// Sends bytes, in order, without waiting. Nothing happens when the channel has ended.
  func send(_ bytes: [UInt8])
  /// Ends the channel and releases the closures; bytes that the system has accepted still arrive.
  func close()
}

/// An end of a channel inside a process, for boards that live in it.
package final class MemoryChannel: LinkChannel {
  package var onBytes: (ArraySlice<UInt8>) -> Void = { _ in }
  package var onEnd: (LinkEnd) -> Void = { _ in }

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

  package func send(_ bytes: [UInt8]) {
    guard isOpen, let peer, !bytes.isEmpty else { return }
    loop.next { if peer.isOpen { peer.onBytes(bytes[...]) } }
  }

  package func close() {
    guard isOpen else { return }
    isOpen = false
    letGo()
    guard let peer else { return }
    loop.next {
      guard peer.isOpen else { return }
      peer.isOpen = false
      let notify = peer.onEnd
      peer.letGo()
      notify(.closed)
    }
  }

  private func letGo() { (onBytes, onEnd) = ({ _ in }, { _ in }) }
}
