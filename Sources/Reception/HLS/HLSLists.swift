internal import EventLoop
internal import HTTP
internal import StreamCore

/// Requests the lists of an HLS stream one at a time, each with the headers by which the server recognises
/// the last one it sent. Confined to the loop of the reception.
final class HLSLists {
  /// The answer to a request.
  enum Answer {
    case list(HLSPlaylist, at: StreamAddress)
    /// The list is the same as the last one.
    case unchanged
    case failed(StreamError, HLSFailure)
  }

  private let loop: EventLoop
  private var transfer: HLSTransfer?
  private var validators: (address: StreamAddress, headers: [(name: String, value: String)])?
  /// The bytes received of the list.
  private var text: [UInt8] = []

  init(on loop: EventLoop) { self.loop = loop }

  func cancel() {
    transfer?.cancel()
    (transfer, text) = (nil, [])
  }

  /// Requests a list, instead of the one that is requested now.
  /// - Parameters:
  ///   - isKnown: `true` if the last list of this address is still in use, and need not be sent again.
  ///   - start: sends the request with further headers; returns `false` if it can't be made.
  ///   - onAnswer: called once, unless the request is cancelled or can't be made.
  func load(
    _ address: StreamAddress, isKnown: Bool, start: (HLSTransfer, [(name: String, value: String)]) -> Bool,
    onAnswer: @escaping (Answer) -> Void
  ) {
    cancel()
    let transfer = HLSTransfer(of: address, on: loop) { [unowned self] _, bytes in
      guard text.count + bytes.count <= Playlist.sizeLimit else {
        (self.transfer, text) = (nil, [])
        onAnswer(.failed(StreamError(.content, "the playlist \(address) has more than 1 MiB"), .content))
        return .stop
      }
      text += bytes
      // A station may have changed to another kind, whose body has no end.
      guard !HLSPlaylist.isForeign(text) else {
        let error = StreamError(
          .content, "\(address) was a list of segments, and is not one any more",
          hint: "report it to the station",
          facts: [.init("url", .string(address.description))])
        (self.transfer, text) = (nil, [])
        onAnswer(.failed(error, .content))
        return .stop
      }
      return .more
    } onEnd: { [unowned self] transfer, end in
      let list = text
      (self.transfer, text) = (nil, [])
      switch end {
      case .failed(let error, let failure): onAnswer(.failed(error, failure))
      case .complete: onAnswer(answer(list, of: address, transfer.head))
      }
    }
    let headers = validators.flatMap { isKnown && $0.address == address ? $0.headers : nil } ?? []
    if start(transfer, headers) { self.transfer = transfer }
  }

  /// Keeps the headers by which the server recognises a list, which may have come by other means.
  func received(_ head: HTTPResponse?, of address: StreamAddress) {
    let names = [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")]
    validators = (
      address, names.compactMap { name, condition in head?.headers[name].map { (condition, $0) } }
    )
  }

  private func answer(_ text: [UInt8], of address: StreamAddress, _ head: HTTPResponse?) -> Answer {
    if head?.status == 304 { return .unchanged }
    let url = head.flatMap { try? StreamAddress($0.url) } ?? address
    do throws(StreamError) {
      let list = try HLSPlaylist(text, url: url.description)
      received(head, of: address)
      return .list(list, at: url)
    } catch { return .failed(error, .content) }
  }
}
