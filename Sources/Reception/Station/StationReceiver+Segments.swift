internal import EventLoop
internal import HTTP
internal import StreamCore

/// The segments of a stream that has turned out to be HLS. The connection is that of its list: it is lost
/// when lists or segments can't be fetched, and brings sound while segments come.
extension StationReceiver {
  /// Continues with the segments of a received list.
  func open(segments text: [UInt8]) {
    let address = driver.address
    driver.machine.setPaced(false, at: now)
    outlet.pause = TransferPause()
    if hls?.address != address {
      // Sound came from a stream of another kind, or from another address.
      let gap =
        driver.machine.hasSounded ? driver.machine.lostAt.map { $0.duration(to: now).inSeconds } ?? 0 : nil
      forgetSegments()
      hls = HLSReception(at: address, gap: gap, over: connection, into: outlet)
    }
    let url = head.flatMap { try? StreamAddress($0.url) } ?? address
    hls?.open(text, at: url, head)
  }

  /// Ends the segments: the stream has become one of another kind.
  func endSegments() {
    guard let old = hls else { return }
    forgetSegments()
    driver.machine.setPaced(true, at: now)
    guard old.hasSound else { return }
    let gap = driver.machine.lostAt.map { $0.duration(to: now).inSeconds } ?? 0
    outlet.discontinuity = .gap(seconds: gap)
    outlet.report(.reconnected(gap: gap, stitched: false, overlap: 0))
  }

  private func forgetSegments() {
    guard let old = hls else { return }
    old.end()
    hls = nil
    // The frames before were followed by those of the segments.
    if old.hasSound { stitcher = Stitcher() }
  }
}
