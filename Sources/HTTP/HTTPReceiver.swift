public import EventLoop

/// A receiver's decision about the rest of a transfer.
public enum HTTPFlow: Sendable {
  /// Continue: deliver bytes as they arrive.
  case more
  /// Pause: no bytes until `HTTPTransfer.resume()`. The full socket holds back the server. The end of a
  /// response without further bytes is still delivered.
  case pause
  /// End: no further call, not even `receiveEnd`, as after `HTTPTransfer.cancel()`.
  case stop
}

/// Receives the events of a transfer: one head, then bytes, then one end. Called on the network thread, which
/// serves all transfers and must not be blocked.
public protocol HTTPReceiver: AnyObject, Sendable {
  /// Receives the head of the last response; earlier ones that only redirect, or only inform (1xx), are not
  /// delivered.
  func receiveHead(_ head: HTTPResponse) -> HTTPFlow
  /// Receives bytes of the body, which are valid until this returns; they are consumed, whatever the
  /// decision.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> HTTPFlow
  /// Receives the end of the transfer.
  /// - Parameter failure: nil if the response is complete, as far as the server indicates.
  func receiveEnd(_ failure: HTTPError?)
}
