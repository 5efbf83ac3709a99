internal import CCurl
internal import EventLoop

/// Paced reading: transfers without an urgent consumer are read in rounds, and do not wake the thread at each
/// arrival.
extension CurlLoop {
  /// Sets the interval at which a transfer is read; nil to read it as its bytes arrive.
  func setPace(_ pace: Duration?, of handle: HTTPTransfer) {
    guard let transfer = transfers[ObjectIdentifier(handle)], transfer.setPace(pace) else { return }
    rounds.remove(transfer)
    if let pace { rounds.add(transfer, due: loop.now.advanced(by: pace)) }
    armRound()
  }

  private func armRound() {
    guard roundDue != rounds.nextDue else { return }
    roundTimer?.cancel()
    roundDue = rounds.nextDue
    roundTimer = roundDue.map { due in
      loop.after(loop.now.duration(to: due), keepsAlive: false) { [unowned self] in readRound() }
    }
  }

  private func readRound() {
    roundDue = nil
    let due = rounds.takeDue(at: loop.now)
    for transfer in due where transfer.pace != nil { read(transfer) }
    for transfer in due {
      // The read may have ended the transfer.
      guard let pace = transfer.pace, transfer.easy != nil else { continue }
      rounds.add(transfer, due: loop.now.advanced(by: pace))
    }
    armRound()
  }

  /// Reads the bytes that have arrived. The end of a connection wakes the thread through its socket.
  private func read(_ transfer: CurlTransfer) {
    guard transfer.isReadable else { return }
    var left = Self.mostReads
    repeat {
      act(transfer.socket, CURL_CSELECT_IN)
      left -= 1
    } while left > 0 && transfer.isReadable && LinuxSockets.bytesWaiting(at: transfer.socket) > 0
  }

  /// The limit of reads per round: a read returns no more than libcurl's buffer and a TLS record hold; the
  /// rest is read in the next round.
  private static let mostReads = 64
}
