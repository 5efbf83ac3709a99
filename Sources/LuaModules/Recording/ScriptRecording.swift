internal import EventLoop
internal import Home
internal import LuaRuntime
internal import StreamKit

/// A recording as scripts have it: its listeners by event name. Confined to the loop.
final class ScriptRecording {
  /// The names of the events.
  static let eventNames = ["recording_stopped", "recording_finished", "track"]

  /// The recording for the reports of the house.
  let reported: HouseRecording
  private let loop: EventLoop
  private var listeners: [(number: Int, name: String, deliver: (LuaValue) -> Void, closed: () -> Void)] = []
  private var listenerCount = 0

  init(_ reported: HouseRecording, loop: EventLoop) { (self.reported, self.loop) = (reported, loop) }

  /// The kit's recording.
  var recording: Recording { reported.recording }

  /// Calls `deliver` with the payload of every event of that name, and `closed` when none can come any more; the
  /// returned function ends that.
  func listen(
    to name: String, _ deliver: @escaping (LuaValue) -> Void, _ closed: @escaping () -> Void
  ) -> () -> Void {
    if reported.isOver {
      loop.next(closed)
      return {}
    }
    listenerCount += 1
    let number = listenerCount
    listeners.append((number, name, deliver, closed))
    return { [weak self] in self?.listeners.removeAll { $0.number == number } }
  }

  /// Delivers an event in a turn of the loop of its own.
  func emit(_ name: String, _ payload: LuaValue) {
    let (last, isLast) = (listenerCount, reported.isOver)
    loop.next { [self] in
      for listener in listeners where listener.name == name && listener.number <= last {
        listener.deliver(payload)
      }
      guard isLast else { return }
      let rest = listeners
      listeners = []
      for listener in rest { listener.closed() }
    }
  }
}
