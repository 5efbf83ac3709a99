internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Scheduling
internal import StreamKit

/// `radio:record`, and `recordings`: what was recorded.
final class RecordingModule {
  private unowned let script: Script
  private let recorder: Recorder
  private let zone: any LocalZone
  private let recordings: LuaClass<ScriptRecording>
  /// Recordings of the script that go on: they live though nobody keeps them.
  private var active: [ObjectIdentifier: ScriptRecording] = [:]

  static func register(
    in script: Script, recorder: Recorder, zone: any LocalZone, streams: StreamModule, events: ScriptEvents
  ) throws {
    let module = try RecordingModule(script, recorder, zone)
    script.keep(module)
    module.defineObject()
    events.add(
      to: module.recordings,
      EventFeed(names: ScriptRecording.eventNames) { recording, name, deliver, closed in
        recording.listen(to: name, deliver, closed)
      })
    streams.streams.method("record", takes: 2) { [unowned module, unowned streams] stream, call in
      try module.record(stream, streams, call)
    }
    let library = RecordingLibraryModule(recorder, zone)
    script.keep(library)
    script.state.register("recordings", library.functions)
    script.staysAlive { [unowned module] in module.active.values.contains { !$0.isOver } }
    script.root { [weak module] in module?.endAll() }
  }

  private init(_ script: Script, _ recorder: Recorder, _ zone: any LocalZone) throws {
    (self.script, self.recorder, self.zone) = (script, recorder, zone)
    recordings = try LuaClass("recording", in: script.state) { recording in
      let recording = recording.recording
      return "recording (\(recording.path), \(recording.state.rawValue), \(Int(recording.seconds)) s)"
    }
  }

  private func endAll() {
    for recording in active.values { recording.recording.finish() }
    active = [:]
  }

  // MARK: The object

  private func defineObject() {
    recordings.method("stop", takes: 0) { recording, call in
      try call.suspend {
        try await recording.recording.stop()
        return []
      }
    }
    func field(_ name: String, _ value: @escaping (Recording) -> LuaValue) {
      recordings.field(name) { recording, call in call.return(value(recording.recording)) }
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
    let given = call.isNil(2) ? recorder.settings.template : try call.string(2, .path)
    var options = try call.recordingOptions(
      3, minimumFree: recorder.settings.minimumFree, zone: zone, now: script.loop.wallNow)
    options.template = recorder.place(given ?? RecordingTemplate.usual(splits: options.split != nil))
    // A template that can't be read is told at the caller's line.
    do { _ = try RecordingTemplate(options.template) } catch {
      throw call.problem(2, error.message, hint: error.hint)
    }
    return try call.suspend { [unowned self] in
      streams.keep(stream)
      var object: ScriptRecording?
      do {
        _ = try await stream.stream.record(options, by: recorder) { [unowned self] recording in
          object = adopt(recording, of: stream, streams.service)
        }
      } catch {
        if let error = error as? any CodedError {
          streams.service.onRecording(.failed(path: shown(options.template), error))
        }
        throw error
      }
      if let object { tellBeginning(of: object, streams.service) }
      return [object.map { recordings($0) } ?? .nil]
    }
  }

  /// Once, before what else there is to tell.
  private func tellBeginning(of object: ScriptRecording, _ service: StreamService) {
    guard !object.isTold else { return }
    object.isTold = true
    service.onRecording(.began(path: shown(object.recording.paths.first ?? object.recording.path)))
  }

  /// A path as it is below the folder of recordings.
  private func shown(_ path: String) -> String {
    var rest = path[...]
    for start in [recorder.settings.root, recorder.settings.folder] {
      if let start, !start.isEmpty, rest.hasPrefix(start) { rest = rest.dropFirst(start.count) }
    }
    return rest.count == path.count ? path : String(rest.drop { $0 == "/" })
  }

  private func adopt(
    _ recording: Recording, of stream: ScriptStream, _ service: StreamService
  ) -> ScriptRecording {
    let object = ScriptRecording(recording, loop: script.loop)
    // One that never began is over without a word.
    active = active.filter { !$0.value.isOver }
    active[ObjectIdentifier(recording)] = object
    recording.onEvent = { [weak self, weak object, weak stream, unowned service] event in
      guard let self, let object else { return }
      let recording = object.recording
      switch event {
      case .track: break
      // Who asked for it is told of what never began.
      case .stopped where recording.path.isEmpty: break
      case .stopped(let error):
        tellBeginning(of: object, service)
        service.onRecording(.failed(path: shown(recording.path), error))
      case .finished(let path, let seconds, _):
        tellBeginning(of: object, service)
        service.onRecording(.finished(path: shown(path), seconds: seconds))
      }
      let (name, payload) = news(event, object)
      object.tell(name, payload)
      stream?.emit(name, payload)
      if object.isOver { active[ObjectIdentifier(object.recording)] = nil }
    }
    return object
  }

  private func news(_ event: RecordingEvent, _ object: ScriptRecording) -> (String, LuaValue) {
    switch event {
    case .track(let path, let title):
      (
        "track",
        .record([
          ("recording", recordings(object)), ("path", .string(path)), ("title", .optional(title)),
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
