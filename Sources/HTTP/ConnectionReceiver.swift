/// The part of a caller that a connection calls, on the network thread.
package protocol ConnectionReceiver: AnyObject {
  /// The connection is open: bytes may be sent.
  func connectionOpened()
  /// Bytes have come, which are valid until the call returns.
  func connectionReceived(_ bytes: UnsafeRawBufferPointer)
  /// The connection has ended, nil: by the other side. Nothing follows.
  func connectionEnded(_ failure: HTTPError?)
}

/// A connection whose bytes the caller sends and receives. Confined to the network thread; ends with `close`.
package final class NetworkConnection {
  private let connection: CurlConnection

  init(_ connection: CurlConnection) { self.connection = connection }

  deinit { connection.close() }

  /// Sends bytes after the previous ones; those that the other side does not accept yet are kept.
  package func send(_ bytes: [UInt8]) { connection.send(bytes) }

  /// `false` while no bytes are to be received: the other side has to wait.
  package var isReading: Bool {
    get { connection.isReading }
    set { connection.isReading = newValue }
  }

  /// Ends the connection; the receiver is not called any more.
  package func close() { connection.close() }
}
