internal import EventLoop
internal import Home
internal import LuaRuntime
internal import RecordingKit
internal import Scheduling
internal import StreamCore

/// `radio:record`, and `recordings`: the recorded files.
final class RecordingModule {
  private unowned let script: Script
  private let service: RecordingService
  private let zone: any LocalZone
  private let recordings: LuaClass<ScriptRecording>
  /// The recordings of the script that are not over: they live even without a reference in Lua.
  private var active: [ObjectIdentifier: ScriptRecording] = [:]

  static func register(
    in script: Script, service: RecordingService, zone: any LocalZone, streams: StreamModule,
    events: ScriptEvents
  ) throws {
    let module = try RecordingModule(script, service, zone)
    script.keep(module)
    module.defineObject()
    events.add(
      to: module.recordings,
      EventSource(names: ScriptRecording.eventNames, cause: listenerCause) {
        recording, name, deliver, closed in
        recording.listen(to: name, deliver, closed)
      })
    streams.streams.method("record", arity: 2) { [unowned module, unowned streams] stream, call in
      try module.record(stream, streams, call)
    }
    let library = RecordingLibraryModule(service.recorder, zone)
    script.keep(library)
    script.state.register("recordings", library.functions)
    script.staysAlive { [unowned module] in module.active.values.contains { !$0.reported.isOver } }
    script.root { [weak module] in module?.endAll() }
  }

  private init(_ script: Script, _ service: RecordingService, _ zone: any LocalZone) throws {
    (self.script, self.service, self.zone) = (script, service, zone)
    recordings = try LuaClass("recording", as: "stream.Recording", in: script.state) { object in
      let recording = object.recording
      return "recording (\(recording.path), \(recording.state.rawValue), \(Int(recording.seconds)) s)"
    }
  }

  /// Returns the cause of a listener's actions: the event of the recording, caused by the command before it.
  private static func listenerCause(
    _ recording: ScriptRecording, _ event: String, _ place: LuaSite?, _ now: WallTime
  ) -> Cause {
    Cause(
      .event, event, detail: recording.reported.name, script: place?.file, line: place?.line ?? 0, at: now,
      parent: recording.delivered)
  }

  private func endAll() {
    for object in active.values { object.recording.finish() }
    active = [:]
  }

  // MARK: The object

  private func defineObject() {
    recordings.method("stop", arity: 0) { object, call in
      object.reported.commandsEnd()
      return try call.suspend {
        try await object.recording.stop()
        return []
      }
    }
    func field(_ name: String, _ value: @escaping (Recording) -> LuaValue) {
      recordings.field(name) { object, call in call.return(value(object.recording)) }
    }
    field("path") { .string($0.path) }
    field("seconds") { .number($0.seconds) }
    field("bytes") { .int($0.bytes) }
    field("title") { .optional($0.title?.text) }
    field("gaps") { .list($0.gaps.map { $0.luaValue }) }
    field("state") { .string($0.state.rawValue) }
  }

  // MARK: record

  /// `radio:record(path or template, options)`
  private func record(_ stream: ScriptStream, _ streams: StreamModule, _ call: LuaCall) throws -> LuaReturn {
    let recorder = service.recorder
    let given = call.isNil(2) ? recorder.settings.template : try call.string(2, .path)
    var options = try call.recordingOptions(
      3, minimumFree: recorder.settings.minimumFree, zone: zone, now: script.loop.wallNow)
    options.template = recorder.absoluteTemplate(
      given ?? RecordingTemplate.usual(splits: options.split != nil))
    // A template that can't be read is an error at the caller's line.
    do { _ = try RecordingTemplate(options.template) } catch {
      throw call.problem(2, error.message, hint: error.hint)
    }
    return try call.suspend { [unowned self] in
      try streams.keep(stream, plays: false)
      var object: ScriptRecording?
      try await service.record(stream.playable, options) { [unowned self] in
        object = adopt($0, of: stream)
      }
      return [object.map { recordings($0) } ?? .nil]
    }
  }

  /// Makes an object of a recording, which the script keeps until it is over.
  private func adopt(_ recording: HouseRecording, of stream: ScriptStream) -> ScriptRecording {
    let object = ScriptRecording(recording, loop: script.loop)
    // A recording that never began is over without an event.
    active = active.filter { !$0.value.reported.isOver }
    active[ObjectIdentifier(recording)] = object
    recording.onEvent { [weak self, weak object, weak stream] event in
      guard let self, let object else { return }
      let (name, payload) = self.payload(of: event, object)
      let cause = object.reported.cause
      object.emit(name, payload, by: cause)
      stream?.emit(name, payload, by: cause)
      if object.reported.isOver { active[ObjectIdentifier(object.reported)] = nil }
    }
    return object
  }

  private func payload(of event: RecordingEvent, _ object: ScriptRecording) -> (String, LuaValue) {
    switch event {
    case .track(let path, let title):
      (
        "track",
        .record([
          ("recording", recordings(object)), ("path", .string(path)), ("title", .optional(title)),
        ])
      )
    case .continued(let path, let gap, let overlap):
      (
        "recording_continued",
        .record([
          ("recording", recordings(object)), ("path", .string(path)), ("gap_seconds", .number(gap)),
          ("stitched", .bool(overlap != nil)), ("frames_overlapped", .int(overlap ?? 0)),
        ])
      )
    case .stopped(let error):
      ("recording_stopped", .record([("recording", recordings(object)), ("error", .error(LuaError(error)))]))
    case .finished(let path, let seconds, let bytes):
      (
        "recording_finished",
        .record([
          ("recording", recordings(object)), ("path", .string(path)), ("seconds", .number(seconds)),
          ("bytes", .int(bytes)),
        ])
      )
    }
  }
}
