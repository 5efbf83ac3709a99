internal import EventLoop
internal import HTTP
internal import StreamCore

/// Detours of the player.
extension StationBody {
  /// Lets a player without sound play the second connection, if recordings keep that connection waiting.
  func beginDetour(on standby: StandbyConnection) {
    let (options, tee) = (connection.options, outlet.tee)
    guard options.catchUp == .skip, tee.isDry, tee.isRecorded, outlet.detour?.isFed != true,
      let buffer = tee.buffer,
      let (head, bytes) = standby.listen({ [unowned self] in receiveDetour($0, nil) })
    else { return }
    outlet.detour = PlayerDetour(of: buffer, sound, head, lossTime: lastDue)
    // A copy shows how much has come, and so how much is missing.
    var length = StreamTime.zero
    if var trial = outlet.detour {
      bytes.withUnsafeBytes { bytes in
        trial.receive(bytes, options.encoding) { frame, _, _ in length = length + frame.duration }
      }
    }
    let gap = max(0, connection.seconds - lastDue - length.seconds)
    outlet.report(.reconnected(gap: gap, stitched: false, overlap: 0))
    bytes.withUnsafeBytes { receiveDetour($0, .gap(seconds: gap)) }
  }

  /// Receives bytes of the second connection for the player alone.
  /// - Parameter discontinuity: the discontinuity before their first frame.
  private func receiveDetour(_ bytes: UnsafeRawBufferPointer, _ discontinuity: PacketBuffer.Discontinuity?) {
    let encoding = connection.options.encoding
    var (discontinuity, isEnough) = (discontinuity, false)
    outlet.tee.receive { outlets in
      let _: Void? = outlet.detour?.receive(bytes, encoding) { frame, bytes, title in
        let arrival = outlets.play(frame, bytes, discontinuity)
        discontinuity = nil
        isEnough = isEnough || arrival.isEnough
        if let title { outlet.report(.metadata(title, at: arrival.start)) }
      }
    }
    if isEnough { outlet.reportEnough() }
  }
}
