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
    pause = TransferPause()
    if hls?.address != address {
      // Sound came from a stream of another kind, or from another address.
      let gap =
        driver.machine.hasSounded ? driver.machine.lostAt.map { $0.duration(to: now).inSeconds } ?? 0 : nil
      hls?.end()
      hls = HLSReception(at: address, gap: gap, of: self)
    }
    let url = head.flatMap { try? StreamAddress($0.url) } ?? address
    hls?.open(text, at: url, head)
  }

  /// Forgets the frames of connections before: the segments have brought sound since, which no connection of
  /// another kind continues.
  func segmentsSounded() { stitcher = Stitcher() }

  /// Ends the segments: the stream has become one of another kind.
  func endSegments() {
    guard let old = hls else { return }
    old.end()
    hls = nil
    driver.machine.setPaced(true, at: now)
    guard old.hasSound else { return }
    let gap = driver.machine.lostAt.map { $0.duration(to: now).inSeconds } ?? 0
    discontinuity = .gap(seconds: gap)
    report(.reconnected(gap: gap, stitched: false, overlap: 0))
  }

  /// Applies the longest time without bytes.
  func setSilenceLimit() {
    driver.setDataTimeout(max(options.dataTimeout, hls?.silenceLimit ?? .zero))
  }

  /// Appends a frame of a file to the buffer.
  func append(
    _ new: TitledFrame, _ bytes: UnsafeRawBufferPointer, generation: Int, into outlets: inout FrameTee.Outlets
  ) -> StreamBuffer.Arrival {
    let arrival = outlets.append(
      new.frame, bytes, discontinuity, title: new.title.map { StreamTitle($0) }, generation: generation)
    hasDelivered = true
    guard arrival.isAccepted else { return arrival }
    discontinuity = nil
    if arrival.isEnough { reportEnough() }
    if let title = new.title { report(.metadata(title, at: arrival.start)) }
    return arrival
  }
}
