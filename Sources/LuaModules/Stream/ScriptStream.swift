internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Playback
internal import SpeakerKit
internal import StreamCore

/// A stream as scripts have it: its listeners by event name, its taps. Confined to the loop.
final class ScriptStream {
  /// The names of the events.
  static let eventNames = [
    "connecting", "buffering", "started", "paused", "stopped", "metadata", "metadata_realtime", "no_network",
    "bad_content", "missing_content", "http_error", "url_not_found", "timeout", "queue_exhausted",
    "file_complete",
    "suspending",
    "suspended", "resumed", "reconnected", "tap_created", "tap_disposed", "tap_overrun",
    "recording_continued", "recording_stopped", "recording_finished", "track",
  ]

  /// The stream for sessions.
  let playable: HouseStream
  private let loop: EventLoop
  private weak var script: Script?
  private var listeners = Listeners<(name: String, deliver: (LuaValue) -> Void)>()
  /// The taps of its sound, which end with it.
  var taps = Listeners<ScriptTap>()
  /// The count among the objects of its script.
  var held: ScriptObjects.Held?
  /// The cause of the last start; nil before the first.
  var origin: Cause?
  /// The cause of the event that is being delivered to listeners; nil between events.
  private(set) var delivered: Cause?

  init(_ playable: HouseStream, of script: Script) {
    (self.playable, self.script, loop) = (playable, script, script.loop)
    playable.listen { [weak self] event in self?.emit(event) }
  }

  deinit { for tap in taps.all { tap.remove() } }

  /// The kit's stream.
  var stream: Playback.Stream { playable.stream }

  // MARK: Listeners

  /// Calls `deliver` with the payload of every event of that name, until the returned function is called.
  func listen(to name: String, _ deliver: @escaping (LuaValue) -> Void) -> () -> Void {
    let number = listeners.add((name, deliver))
    return { [weak self] in self?.listeners.remove(number) }
  }

  /// Delivers an event to the present listeners in a later turn of the loop, after its cause has returned.
  /// - Parameter cause: its cause; nil for the command that has started or stopped the stream.
  func emit(_ name: String, _ payload: LuaValue = .record([]), by cause: Cause? = nil) {
    guard listeners.count > 0 else { return }
    let last = listeners.lastNumber
    // A call of the script, as of `stop`, is the cause of the events inside it; the start is that of all others.
    let cause = cause ?? (script?.state.running == nil ? origin : Script.cause(at: loop.wallNow))
    loop.next { [self] in
      delivered = cause
      defer { delivered = nil }
      for listener in listeners.all(upTo: last) where listener.name == name { listener.deliver(payload) }
    }
  }

  private func emit(_ event: HouseStream.Event) {
    switch event {
    case .stream(let event): emit(event)
    case .suspension(let phase, let by): emit(phase.rawValue, .record([("by", .string(by.name))]))
    }
  }

  private func emit(_ event: StreamEvent) {
    switch event {
    case .connecting: emit("connecting")
    case .buffering: emit("buffering")
    case .started: emit("started")
    case .paused: emit("paused")
    case .stopped: emit("stopped")
    case .queueExhausted: emit("queue_exhausted")
    case .fileComplete: emit("file_complete")
    case .metadata(let title, let isRealtime):
      emit(isRealtime ? "metadata_realtime" : "metadata", Self.payload(of: title))
    case .failed(let error): emit(error)
    case .reconnected(let gap, let stitched, let overlap):
      emit(
        "reconnected",
        .record([
          ("gap_seconds", .number(gap)), ("stitched", .bool(stitched)), ("frames_overlapped", .int(overlap)),
        ]))
    }
  }

  private static func payload(of title: StreamTitle) -> LuaValue {
    .record([
      ("title", .string(title.text)), ("text", .string(title.text)), ("artist", .optional(title.artist)),
      ("title_without_artist", .string(title.withoutArtist)), ("url", .optional(title.url)),
    ])
  }

  private func emit(_ error: StreamError) {
    let facts: [(name: String, value: LuaValue)] = [
      ("error", .error(LuaError(error))), ("code", .string(error.code)), ("message", .string(error.message)),
      ("url", .string(error.url ?? stream.shownURL)),
      ("status", error.status.map { .int($0) } ?? .nil),
    ]
    emit(playable.condition(of: error).rawValue, .record(facts))
    if error.status != nil { emit("http_error", .record(facts)) }
  }

  // MARK: Changes

  /// Changes the options, including those for the next start.
  func change(_ body: (inout StreamOptions) throws -> Void) rethrows {
    try body(&stream.options)
    if var options = stream.nextOptions {
      try body(&options)
      stream.nextOptions = options
    }
  }

  /// Sets the address and the options of the next start.
  /// - Throws: the error of `address`, which listeners receive too.
  func setNext(
    _ address: Result<StreamAddress, StreamError>, nickname: String?, options: StreamOptions
  ) throws {
    switch address {
    case .success(let address): stream.setNext(address, nickname: nickname, options: options)
    case .failure(let error):
      emit(error)
      throw error
    }
  }
}

extension LuaClass<ScriptStream> {
  /// Adds a method that uses the kit's stream alone.
  func method(
    ofStream name: String, arity count: Int,
    _ body: @escaping (Playback.Stream, LuaCall) throws -> LuaReturn
  ) {
    method(name, arity: count) { object, call in try body(object.stream, call) }
  }

  /// Adds a field that the kit's stream has.
  func field(
    ofStream name: String, changedBy method: String? = nil, _ value: @escaping (Playback.Stream) -> LuaValue
  ) {
    field(name, changedBy: method) { object, call in call.return(value(object.stream)) }
  }
}
