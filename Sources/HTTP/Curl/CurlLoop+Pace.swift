internal import CCurl
internal import EventLoop

/// Reading by the clock: what nobody waits for need not wake the thread as it comes.
extension CurlLoop {
  /// Has a transfer read every so often; nil to have it read as its bytes come.
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
      // What was read may have ended it.
      guard let pace = transfer.pace, transfer.easy != nil else { continue }
      rounds.add(transfer, due: loop.now.advanced(by: pace))
    }
    armRound()
  }

  /// Reads what has come. Of a connection that has ended the socket tells by itself.
  private func read(_ transfer: CurlTransfer) {
    guard transfer.isReadable else { return }
    var left = Self.mostReads
    repeat {
      act(transfer.socket, CURL_CSELECT_IN)
      left -= 1
    } while left > 0 && transfer.isReadable && LinuxSockets.bytesWaiting(at: transfer.socket) > 0
  }

  /// libcurl reads no more at a time than its buffer takes, and a record of TLS; what is left then is read in the next
  /// round.
  private static let mostReads = 64
}
