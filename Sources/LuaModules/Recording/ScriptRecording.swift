internal import EventLoop
internal import Home
internal import LuaRuntime
internal import RecordingKit

/// A recording as scripts have it: its listeners by event name. Confined to the loop.
final class ScriptRecording {
  /// The names of the events.
  static let eventNames = ["recording_continued", "recording_stopped", "recording_finished", "track"]

  /// The recording for the reports of the house.
  let reported: HouseRecording
  private let loop: EventLoop
  /// The cause of the event that is being delivered to listeners; nil between events.
  private(set) var delivered: Cause?
  private var listeners = Listeners<(name: String, deliver: (LuaValue) -> Void, closed: () -> Void)>()

  init(_ reported: HouseRecording, loop: EventLoop) { (self.reported, self.loop) = (reported, loop) }

  /// The kit's recording.
  var recording: Recording { reported.recording }

  /// Calls `deliver` with the payload of every event of that name, and `closed` when no more events can come;
  /// the returned function ends the subscription.
  func listen(
    to name: String, _ deliver: @escaping (LuaValue) -> Void, _ closed: @escaping () -> Void
  ) -> () -> Void {
    if reported.isOver {
      loop.next(closed)
      return {}
    }
    let number = listeners.add((name, deliver, closed))
    return { [weak self] in self?.listeners.remove(number) }
  }

  /// Delivers an event and its cause in a turn of the loop of its own.
  func emit(_ name: String, _ payload: LuaValue, by cause: Cause?) {
    let (last, isLast) = (listeners.lastNumber, reported.isOver)
    loop.next { [self] in
      delivered = cause
      defer { delivered = nil }
      for listener in listeners.all(upTo: last) where listener.name == name {
        listener.deliver(payload)
      }
      guard isLast else { return }
      // In the next turn, when the listeners have received the last event.
      let ended = listeners.removeAll()
      loop.next { for listener in ended { listener.closed() } }
    }
  }
}
