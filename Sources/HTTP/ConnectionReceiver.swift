/// The part of a caller that a connection calls, on the network thread.
package protocol ConnectionReceiver: AnyObject {
  /// The connection is open: bytes may be sent.
  func connectionOpened()
  /// Bytes have come, which are valid until the call returns.
  func connectionReceived(_ bytes: UnsafeRawBufferPointer)
  /// The connection has ended, nil: by the other side. Nothing follows.
  func connectionEnded(_ failure: HTTPError?)
}
