internal import AudioCore
internal import EventLoop
internal import Home
internal import LuaModules
internal import LuaRuntime
internal import RecordingKit
internal import Scheduling
internal import SpeakerKit
internal import StreamCore

/// The rows of `live()`: the sessions, the listeners, the jobs and the recordings at one moment.
struct LiveView: Equatable {
  /// A session that plays or is paused.
  struct Playing: Equatable {
    var rooms: [String]
    var session: String?
    var title: String
    var position: Int
    var duration: Int?
    var volume: Int
    var isPaused: Bool
  }

  struct Recorded: Equatable {
    var path: String
    var title: String?
    var seconds: Int
    var bytes: Int
  }

  var playing: [Playing] = []
  /// Labels of subscriptions, such as `on "volume"`, in the order in which they were made.
  var listeners: [String] = []
  /// Names of jobs with the local time of the next run; nil without one.
  var jobs: [(name: String, next: String?, running: Int)] = []
  var recordings: [Recorded] = []

  static func == (one: LiveView, other: LiveView) -> Bool {
    one.playing == other.playing && one.listeners == other.listeners && one.recordings == other.recordings
      && one.jobs.elementsEqual(other.jobs) { $0 == $1 }
  }

  /// Returns the rows, no wider than `width` columns; the last one counts those that `height` leaves out.
  func lines(width: Int, height: Int) -> [String] {
    var lines = section("plays", playing.map(Self.text))
    lines += section("listens", counted(listeners))
    lines += section(
      "jobs",
      jobs.map { job in
        "\(job.name)  \(job.next.map { "next \($0)" } ?? "no further run")"
          + (job.running > 0 ? "  running" : "")
      })
    lines += section(
      "records",
      recordings.map { item in
        ([clockText(item.seconds), ByteSize.describe(item.bytes), item.title, item.path].compactMap { $0 })
          .joined(separator: "  ")
      })
    return Self.fitted(lines, width: width, height: height)
  }

  /// Returns rows cut to `width` columns; the last one counts those that `height` leaves out.
  static func fitted(_ rows: [String], width: Int, height: Int) -> [String] {
    var rows = rows
    if rows.count > height {
      let hidden = rows.count - max(0, height - 1)
      rows = rows.prefix(max(0, height - 1)) + ["… \(hidden) more"]
    }
    return rows.map { $0.onOneLine.cut(toColumns: width) }
  }

  private func section(_ name: String, _ rows: [String]) -> [String] {
    let title = name.padded(toColumns: 9)
    let blank = String(repeating: " ", count: 9)
    return (rows.isEmpty ? ["nothing"] : rows).enumerated().map { ($0 == 0 ? title : blank) + $1 }
  }

  /// Returns each label once, with the number of those that are equal.
  private func counted(_ labels: [String]) -> [String] {
    var counts: [(label: String, count: Int)] = []
    for label in labels {
      if let index = counts.firstIndex(where: { $0.label == label }) {
        counts[index].count += 1
      } else {
        counts.append((label, 1))
      }
    }
    return counts.map { $0.count == 1 ? $0.label : "\($0.label) (\($0.count))" }
  }

  private static func text(_ item: Playing) -> String {
    let rooms = item.rooms.isEmpty ? "no speaker" : item.rooms.joined(separator: ", ")
    let time = clockText(item.position) + (item.duration.map { " / \(clockText($0))" } ?? "")
    // The title and the rooms may be long, and the end of a row is cut.
    let parts = [
      "\(item.isPaused ? "⏸" : "▶") \(item.title.onOneLine.cut(toColumns: 30))", time,
      "volume \(item.volume) of \(House.maximumVolume)", rooms, item.session.map { "session \($0)" },
    ]
    return parts.compactMap { $0 }.joined(separator: "  ")
  }
}

extension LiveView {
  /// The state of the house and of a script now.
  init(_ engine: Engine, _ script: Script) {
    if let house = engine.house.open {
      playing = house.sessions.compactMap { session in
        guard let source = session.source, session.state != .stopped else { return nil }
        let rate = session.format.sampleRate
        return Playing(
          rooms: house.rooms(of: session.devices), session: session.name,
          title: source.title, position: session.position / rate,
          duration: session.duration.map { $0 / rate },
          volume: session.heardVolume, isPaused: session.state == .paused)
      }
    }
    listeners = script.listeners
    jobs = engine.scheduledJobs.map { job in
      (job.name, job.next.map { "\(job.zone.local($0))" }, job.running)
    }
    recordings = engine.recordings.recorder.recordings.map { recording in
      Recorded(
        path: recording.path, title: recording.title?.text, seconds: Int(recording.seconds),
        bytes: recording.bytes)
    }
  }
}

/// `live()`: the view drawn again on events of the house and once a second, when it has changed. Confined to the loop.
final class LiveDisplay {
  /// Changes that follow each other faster are drawn together.
  private static let pace = Duration.milliseconds(500)
  /// Positions, recordings and jobs have no event for each change.
  private static let period = Duration.seconds(1)

  private unowned let engine: Engine
  private unowned let script: Script
  private let show: (LiveView) -> Void
  private var shown: LiveView?
  private var subscription: EventHub.Subscription?
  private var timer: LoopTimer?
  private var drawn = Instant.start

  /// Passes the view to `show` until `end`.
  init(_ engine: Engine, _ script: Script, show: @escaping (LiveView) -> Void) {
    (self.engine, self.script, self.show) = (engine, script, show)
    draw()
  }

  /// Draws the view if it has changed, and waits for the next change.
  private func draw() {
    let view = LiveView(engine, script)
    if view != shown { show(view) }
    shown = view
    drawn = engine.loop.now
    if subscription?.isActive != true {
      subscription = engine.house.open?.events.on { [weak self] _ in self?.change() }
    }
    schedule(Self.period)
  }

  private func change() {
    let rest = Self.pace - drawn.duration(to: engine.loop.now)
    schedule(max(rest, .zero))
  }

  private func schedule(_ time: Duration) {
    timer?.cancel()
    timer = engine.loop.after(time, keepsAlive: false) { [weak self] in self?.draw() }
  }

  /// Ends; the last view stays on the screen.
  func end() {
    timer?.cancel()
    subscription?.cancel()
    timer = nil
  }
}

/// The part of a terminal that `live()` is drawn on.
public protocol LiveScreen: AnyObject {
  /// Delivers single keys from now on: `onKey` is called with the first one only.
  /// - Returns: `false` when nothing can be drawn now, as a block is typed or there is no terminal.
  func beginKeys(_ onKey: @escaping () -> Void) -> Bool
  /// Returns the terminal to lines; the view stays on the screen.
  func endKeys()
  /// Draws lines, made for the columns and rows that are free, in place of those drawn before.
  func show(_ lines: @escaping (_ columns: Int, _ rows: Int) -> [String])
}

extension Prompt {
  /// Defines the global `live`.
  func defineLive() {
    let live = LuaFunction("live", arity: 0) { [unowned self] call in
      guard isInteractive, let screen = input as? any LiveScreen else {
        for line in LiveView(engine, script).lines(width: .max, height: .max) { show(line + "\n") }
        return .none
      }
      return try call.suspend { continuation in
        var display: LiveDisplay?
        let end = { [weak self] in
          display?.end()
          display = nil
          self?.endsLive = nil
          screen.endKeys()
        }
        let leave = {
          end()
          continuation.resume(returning: [])
        }
        guard screen.beginKeys(leave) else {
          throw LuaError(
            code: "argument", message: "live() takes the place of the prompt",
            hint: "call it at the prompt, without & and not from a listener")
        }
        endsLive = leave
        display = LiveDisplay(engine, script) { view in
          screen.show { view.lines(width: $0, height: $1) }
        }
        return end
      }
    }
    script.state[global: "live"] = script.state.value(of: live)
  }

  /// `true` if rows can be drawn in place.
  public var canDraw: Bool { isInteractive && input is any LiveScreen }

  /// Draws the rows of `live()` that runs in `remote`, in place of those drawn before.
  /// - Parameter onKey: called when a key has ended and removed the view.
  public func showLive(_ rows: [String], onKey: @escaping () -> Void) {
    guard let screen = input as? any LiveScreen else { return }
    if endsLive == nil {
      let leave = { [unowned self] in
        endRemoteLive()
        onKey()
      }
      guard screen.beginKeys(leave) else { return }
      endsLive = leave
    }
    screen.show { LiveView.fitted(rows, width: $0, height: $1) }
  }

  /// Returns the terminal to lines when `live()` of `remote` has ended.
  func endRemoteLive() {
    guard remote != nil, endsLive != nil, let screen = input as? any LiveScreen else { return }
    endsLive = nil
    screen.endKeys()
  }
}
