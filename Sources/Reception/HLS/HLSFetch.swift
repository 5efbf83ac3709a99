internal import EventLoop
internal import HTTP
internal import StreamCore

/// Requests a segment and the sections it needs, one after the other, and decrypts its bytes. Confined to the
/// loop of the reception.
final class HLSFetch {
  /// An event of the requested segment.
  enum Event {
    /// Plain bytes, valid until the call returns, and the initialization section that the segment needs.
    /// Comes at least once before `complete`.
    case bytes(UnsafeRawBufferPointer, initialization: [UInt8]?)
    case complete
    case failed(StreamError, HLSFailure)
  }

  private let loop: EventLoop
  private let start: (HLSTransfer, StreamAddress) -> Bool
  private let handle: (Event) -> HTTPFlow
  private var sections = HLSSections()
  /// The open request; nil between two requests.
  private var transfer: HLSTransfer?
  /// The number of segments requested or cancelled so far: events of earlier ones are dropped.
  private var turn = 0

  /// - Parameters:
  ///   - start: sends a request; returns `false` if it can't be made, which ends the segment without an
  ///     event.
  ///   - handle: receives the events; the flow that it returns counts for bytes.
  init(
    on loop: EventLoop, start: @escaping (HLSTransfer, StreamAddress) -> Bool,
    handle: @escaping (Event) -> HTTPFlow
  ) { (self.loop, self.start, self.handle) = (loop, start, handle) }

  /// `true` while a request is open.
  var isOpen: Bool { transfer != nil }

  func cancel() {
    turn += 1
    transfer?.cancel()
    transfer = nil
  }

  /// Resumes reading after a pause.
  func resume() { transfer?.resume() }

  /// Requests a segment, instead of the one that is requested now.
  func request(_ piece: HLSPiece) {
    cancel()
    requestNext(of: piece)
  }

  private func fail(_ error: StreamError, _ failure: HLSFailure) {
    transfer = nil
    _ = handle(.failed(error, failure))
  }

  /// Requests the missing sections of the segment, and finally the segment itself.
  private func requestNext(of piece: HLSPiece) {
    let part: HLSSections.Part
    do throws(StreamError) { part = try sections.next(for: piece) } catch {
      // In a turn of its own: a list may have thousands of segments that can't be requested.
      let turn = turn
      loop.after(.zero) { [weak self] in
        guard let self, self.turn == turn else { return }
        fail(error, .content)
      }
      return
    }
    switch part {
    case .section(let section): request(section, for: piece)
    case .segment(let address, let initialization, let cipher):
      request(piece, at: address, initialization, cipher)
    }
  }

  private func request(_ section: HLSSections.Section, for piece: HLSPiece) {
    var bytes: [UInt8] = []
    let transfer = HLSTransfer(of: section.address, range: section.range, on: loop) { [unowned self] _, new in
      guard bytes.count + new.count <= section.limit else {
        fail(section.tooLong, .content)
        return .stop
      }
      bytes += new
      return .more
    } onEnd: { [unowned self] _, end in
      self.transfer = nil
      switch end {
      case .failed(let error, let failure): fail(section.missing(error), failure)
      case .complete:
        do throws(StreamError) { try sections.add(bytes, as: section) } catch { return fail(error, .content) }
        requestNext(of: piece)
      }
    }
    if start(transfer, section.address) { self.transfer = transfer }
  }

  private func request(
    _ piece: HLSPiece, at address: StreamAddress, _ initialization: [UInt8]?, _ cipher: HLSCipher?
  ) {
    var isEmpty = true
    let transfer = HLSTransfer(of: address, range: piece.segment.range, on: loop) { [unowned self] _, bytes in
      isEmpty = false
      guard let cipher else { return handle(.bytes(bytes, initialization: initialization)) }
      return cipher.update(bytes).withUnsafeBytes { handle(.bytes($0, initialization: initialization)) }
    } onEnd: { [unowned self] _, end in
      self.transfer = nil
      switch end {
      case .failed(let error, let failure): fail(error, failure)
      case .complete:
        if isEmpty || cipher != nil {
          guard let last = cipher.map({ $0.finish() }) ?? [] else {
            return fail(HLSSound.Obstacle.undecipherable.error(at: piece.address), .content)
          }
          let turn = turn
          let flow = last.withUnsafeBytes { handle(.bytes($0, initialization: initialization)) }
          if case .stop = flow { return }
          guard self.turn == turn else { return }
        }
        _ = handle(.complete)
      }
    }
    if start(transfer, address) { self.transfer = transfer }
  }
}

extension HLSPiece {
  /// The address of the segment, as it is shown.
  var address: String {
    if case .address(let address)? = base.resolving(segment.reference) {
      address.description
    } else {
      "\(base)"
    }
  }
}

extension HLSSound.Obstacle {
  fileprivate static let undecipherable = HLSSound.Obstacle(found: "bytes that its key does not decipher")

  /// Returns the error of a segment.
  /// - Parameter url: its address.
  func error(at url: String) -> StreamError {
    let facts: [ErrorFact] = [.init("url", .string(url)), .init("found", .string(found))]
    return isUnsupported
      ? StreamError(
        .unsupported, "\(url) can't be played: found \(found)", hint: "look for one in MP3 or AAC",
        facts: facts)
      : StreamError(
        .content, "\(url) sends no audio: found \(found)", hint: "report it to the station", facts: facts)
  }
}

extension HLSEncryption {
  /// Returns the error of a segment with an unsupported encryption; nil for a supported one.
  /// - Parameter url: the address of the list.
  func error(at url: StreamAddress) -> StreamError? {
    guard case .foreign(let kind) = self else { return nil }
    return StreamError(
      .unsupported, "\(url) is encrypted with \(kind), which doesn't work here",
      hint: "look for another address of the station", facts: [.init("url", .string(url.description))])
  }
}
