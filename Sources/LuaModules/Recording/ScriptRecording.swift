internal import EventLoop
internal import LuaRuntime
internal import StreamKit

/// A recording as a script has it. Confined to the loop.
final class ScriptRecording {
  static let eventNames = ["recording_stopped", "recording_finished", "track"]

  let recording: Recording
  /// Its beginning was told to who follows the house.
  var isTold = false
  private let loop: EventLoop
  private var listeners: [(number: Int, name: String, deliver: (LuaValue) -> Void, closed: () -> Void)] = []
  private var listenerCount = 0

  init(_ recording: Recording, loop: EventLoop) { (self.recording, self.loop) = (recording, loop) }

  /// Whether nothing happens to it any more.
  var isOver: Bool { recording.state == .finished || recording.state == .failed }

  /// Has `deliver` called with the payload of every event of that name; the returned function ends that.
  func listen(
    to name: String, _ deliver: @escaping (LuaValue) -> Void, _ closed: @escaping () -> Void
  ) -> () -> Void {
    if isOver {
      loop.next(closed)
      return {}
    }
    listenerCount += 1
    let number = listenerCount
    listeners.append((number, name, deliver, closed))
    return { [weak self] in self?.listeners.removeAll { $0.number == number } }
  }

  /// Tells listeners in a turn of the loop of its own.
  func tell(_ name: String, _ payload: LuaValue) {
    let (last, isLast) = (listenerCount, isOver)
    loop.next { [self] in
      for listener in listeners where listener.name == name && listener.number <= last {
        listener.deliver(payload)
      }
      guard isLast else { return }
      let left = listeners
      listeners = []
      for listener in left { listener.closed() }
    }
  }
}
