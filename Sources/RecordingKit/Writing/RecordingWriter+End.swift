internal import EventLoop
internal import StreamCore

/// The end of the files of a recording, and of the recording; and the time in which its disk has no room.
extension RecordingWriter {
  /// Ends a file, and reports it if its path has changed, or it was removed.
  func close(
    _ part: RecordingPart, isCutOff: Bool = false, isLast: Bool = false
  ) throws(RecordError) {
    try files.close(part, isCutOff: isCutOff, isLast: isLast)
    if sound.fileEnd != nil {
      // Bytes have no length until the file is complete.
      ledger.receive(StreamTime(samples: part.entry.samples, sampleRate: part.entry.sampleRate))
      ledger.write()
      let seconds = ledger.time.seconds
      progress.update { $0.seconds = seconds }
    }
    let path = part.entry.part == nil && files.lastPath == part.entry.path ? part.entry.path : nil
    if path != part.reportedPath { report(.closed(part.reportedPath, as: path)) }
  }

  func close() {
    hasEnded = true
    queue.close()
    // The disk had no room up to the end.
    if ledger.lost > .zero { apply(.gap(seconds: ledger.lost.seconds)) }
    var failure: RecordError?
    for part in parts {
      let isLast = part === parts.last
      do throws(RecordError) { try close(part, isCutOff: part.ends == nil, isLast: isLast) } catch {
        failure = error
      }
    }
    let path = files.lastPath ?? parts.last?.entry.path
    parts = []
    files.writeCueSheet()
    if let failure { report(.stopped(failure, resumes: false)) } else { report(.finished(path: path)) }
  }

  /// Removes the file whose bytes are copied, as they are not sound.
  func discardFile() {
    guard sound.fileEnd != nil else { return }
    for part in parts {
      files.remove(part)
      report(.closed(part.reportedPath, as: nil))
    }
    (parts, sound.format) = ([], nil)
  }

  func fail(_ error: RecordError, _ now: Instant) {
    var resumes = files.options.resumesWhenSpace && error.kind == .diskFull
    if case .waiting = beginning { resumes = false }
    for part in parts {
      part.entry.error = error.description
      part.fails = true
      // Written sound is kept.
      do throws(RecordError) { try close(part, isCutOff: part.ends == nil) } catch { files.lost(part, error) }
    }
    (parts, sound.format) = ([], nil)
    _ = planner.reset()
    ledger.dropUnwritten()
    lose()
    if resumes {
      waitsUntil = now.advanced(by: .seconds(5))
    } else {
      hasEnded = true
      queue.close()
      files.writeCueSheet()
    }
    report(.stopped(error, resumes: resumes))
  }

  /// Drops the received sound, as there is no room for it.
  func lose() {
    for batch in waiting {
      ledger.lose(batch)
      for case .file(let end) in batch.marks.map(\.mark) { apply(.file(end: end)) }
      // The headers are needed for the sound that comes when there is room.
      var start = 0
      for frame in batch.frames {
        if frame.isHeaders { chain(batch.bytes[start..<(start + frame.length)]) }
        start += frame.length
      }
    }
    waiting = []
    if let title = ledger.takeLostTitle() { apply(.title(title)) }
  }

  /// Tries again after the disk was full.
  func resume(_ now: Instant) {
    let isRoom: Bool
    do throws(RecordError) {
      try files.requireRoom(atLeast: Self.roomToResume)
      isRoom = true
    } catch { isRoom = false }
    waitsUntil = isRoom ? nil : now.advanced(by: .seconds(5))
    guard isRoom, ledger.lost > .zero else { return }
    apply(.gap(seconds: ledger.lost.seconds))
    ledger.resume()
  }

  /// The number of bytes that must be free before it resumes: some minutes of sound.
  private static let roomToResume = 16 << 20
}
