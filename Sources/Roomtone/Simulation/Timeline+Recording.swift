internal import EventLoop
internal import Home
internal import Scheduling

/// Reports of recordings, as lines of the time line.
extension Timeline {
  func receive(_ report: RecordingReport) {
    let text =
      switch report {
      case .began(let path): "● recording \(path)"
      case .finished(let path, let seconds):
        "■ \(path) is recorded, \(DurationText.describe(.seconds(Int(seconds.rounded()))))"
      case .failed(let path, let error): "! \(path) is not recorded: \(error.message) (\(error.code))"
      }
    add(text, room: "Recorder")
  }
}
