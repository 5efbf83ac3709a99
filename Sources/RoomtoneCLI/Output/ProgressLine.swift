internal import AudioCore
internal import EventLoop
internal import SpeakerKit

/// The one line on a terminal that tells how far a file is: `▶ wake_up.mp3  0:12 / 0:23  Kitchen, Bedroom`.
///
/// Confined to the loop.
final class ProgressLine {
  /// What a station says that it plays; nil for what the source is called.
  var title: String?
  /// Where it sounds.
  var places = ""
  private var line: TerminalLine

  /// A line on standard output, or none.
  init(isShown: Bool) { line = TerminalLine(isShown: isShown) }

  /// Draws it anew.
  func show(_ session: Session) {
    guard line.isShown, let source = session.source else { return }
    let rate = session.format.sampleRate
    line.show(
      Self.text(
        title: title ?? source.title, position: session.position / rate,
        duration: session.duration.map { $0 / rate },
        places: places, columns: Terminal.columns))
  }

  /// Leaves it where it is: what comes next begins on a line of its own.
  func end() { line.end() }

  /// The line, cut where the terminal would break it.
  static func text(title: String, position: Int, duration: Int?, places: String, columns: Int) -> String {
    let time = clock(position) + (duration.map { " / " + clock($0) } ?? "")
    return TerminalLine.fit("▶ \(title)  \(time)  \(places)", columns: columns)
  }

  /// `0:12`, `1:02:03`
  static func clock(_ seconds: Int) -> String {
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return hours > 0
      ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
  }
}
