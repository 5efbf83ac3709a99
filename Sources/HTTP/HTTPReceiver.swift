/// What a receiver wants next.
public enum HTTPFlow: Sendable {
  /// More, as it comes.
  case more
  /// No bytes until `HTTPTransfer.resume()`. The server is held back by the full socket. The end of an answer that has
  /// no bytes left is told all the same.
  case pause
  /// Nothing ever again; as `HTTPTransfer.cancel()`, there will not be an end.
  case stop
}

/// Takes what a transfer brings: one head, then bytes, then one end. Called on the network thread, which serves all
/// transfers and must not be kept waiting.
public protocol HTTPReceiver: AnyObject, Sendable {
  /// The head of the last answer: those before it that only redirect, or only inform (1xx), are not told.
  func receiveHead(_ head: HTTPResponse) -> HTTPFlow
  /// Bytes of the body, which are valid until this returns; they are taken, whatever is returned.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow
  /// Nothing more comes.
  /// - Parameter failure: nil when the answer is complete, as far as the server tells.
  func receiveEnd(_ failure: HTTPError?)
}
