internal import Codecs
internal import EventLoop
internal import HTTP
internal import StreamCore

/// The recognition of an answer, which decides who reads it.
extension StationReceiver {
  /// Recognises a body by its first bytes.
  /// - Parameter isWhole: `true` if no bytes follow.
  func recognise(_ start: [UInt8], of head: HTTPResponse, isWhole: Bool) -> HTTPFlow {
    let (type, path) = (head.contentType?.name, driver.address.path)
    if !connection.options.isRaw, let format = Playlist.format(start: start, contentType: type, path: path) {
      answer = .list(head, format, start)
      return .more
    }
    if isFile(head), !isPlayedOnly {
      // A page is not a file, though it is sent as one.
      switch FileAnswer.content(start, isWhole: isWhole) {
      case .unknown: return .more
      case .text(let found): return drop(.noAudio(found, from: shownURL))
      case .other: break
      }
    }
    beginSound(head, start)
    if isStopped { return .stop }
    return start.withUnsafeBytes { bytes in
      if case .file(let file) = phase { return file.receiveBody(bytes) }
      return receive(bytes)
    }
  }

  /// Begins to read sound: that of a station, or of a file.
  func beginSound(_ head: HTTPResponse, _ start: [UInt8] = []) {
    endSegments()
    answer = .sound(beside: nil)
    let mayBeFile = connection.options.isFile != false && !FileAnswer.isStation(head)
    sound.connect(head, mayBeFile: mayBeFile)
    outlet.pause = TransferPause()
    let codec = ContentSniffer.container(start.prefix(ContentSniffer.magicLength))
    if isFile(head) || (codec == .flac || codec == .wav) && isOpenFile(head) { handOver(head) }
  }

  /// Returns `true` if an answer is a file. Once a station has played, later answers are never treated as
  /// files.
  func isFile(_ head: HTTPResponse) -> Bool {
    if driver.machine.hasSounded { return false }
    return connection.options.isFile ?? FileAnswer.isFile(head)
  }

  /// Returns `true` if an answer with FLAC or WAV, which begin only once, is received as a file though its
  /// end is unknown: to be played, or to be recorded byte for byte.
  private func isOpenFile(_ head: HTTPResponse) -> Bool {
    guard !driver.machine.hasSounded, connection.options.isFile != false, !FileAnswer.isStation(head) else {
      return false
    }
    let tee = outlet.tee
    return isPlayedOnly || tee.buffer == nil && tee.takesFile && !tee.endsWithin
  }

  /// `true` if the stream is played, and not recorded.
  var isPlayedOnly: Bool { outlet.tee.buffer != nil && !outlet.tee.isRecorded }

  // MARK: Files

  /// Hands the transfer, and all further bytes, to a receiver of files.
  private func handOver(_ head: HTTPResponse) {
    driver.disarm()
    let (address, network, tee) = (driver.address, connection.network, outlet.tee)
    let (rest, options) = (connection.candidates, connection.options(for: address))
    driver.machine.stop()
    let file: any AdoptingReceiver
    if tee.isRecorded {
      guard tee.buffer == nil else { return driver.giveUp(.notRecorded(shownURL)) }
      guard tee.takesFile else { return driver.giveUp(.recordedAsIs(shownURL)) }
      file = FileCopyReceiver(at: address, head: head, options: options, network: network, outlet: outlet)
      if !rest.isEmpty { outlet.report(.programme(rest)) }
    } else if let buffer = tee.buffer {
      file = FileReceiver(
        at: address, head: head, options: options, network: network, buffer: buffer, outlet: outlet)
      if !rest.isEmpty {
        buffer.isFollowed = true
        outlet.report(.programme(rest))
      }
    } else {
      return driver.giveUp(.notRecorded(shownURL))
    }
    phase = .file(file)
    file.adopt(driver.transfer)
    driver.transfer = nil
  }

  // MARK: Segments

  /// Continues with the segments of a received list. The connection is that of the list: it is lost when
  /// lists or segments can't be fetched, and brings sound while segments come.
  func open(segments text: [UInt8], _ head: HTTPResponse) {
    let address = driver.address
    driver.machine.setPaced(false, at: now)
    outlet.pause = TransferPause()
    let segments: HLSReception
    if case .segments(let old, _) = phase, old.address == address {
      segments = old
    } else {
      // Sound came from a stream of another kind, or from another address.
      let gap = driver.machine.hasSounded ? secondsSinceLoss : nil
      leaveSegments()
      segments = HLSReception(at: address, gap: gap, over: connection, into: outlet)
      phase = .segments(segments, .closed(beside: nil))
    }
    segments.open(text, at: (try? StreamAddress(head.url)) ?? address, head)
  }

  /// Ends the segments: the stream has become one of another kind.
  private func endSegments() {
    guard case .segments(let old, _) = phase else { return }
    leaveSegments()
    driver.machine.setPaced(true, at: now)
    guard old.hasSound else { return }
    let gap = secondsSinceLoss
    outlet.discontinuity = .gap(seconds: gap)
    outlet.report(.reconnected(gap: gap, stitched: false, overlap: 0))
  }

  private func leaveSegments() {
    guard case .segments(let old, let answer) = phase else { return }
    old.end()
    phase = .station(answer)
    if old.hasSound { sound.forget() }
  }

  private var secondsSinceLoss: Double {
    driver.machine.lostAt.map { $0.duration(to: now).inSeconds } ?? 0
  }
}
