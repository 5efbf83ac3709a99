internal import AudioCore
internal import EventLoop
internal import Home
internal import LuaRuntime
internal import Playback

/// Processing of the sound of a stream: gain, levels, taps.
final class StreamSoundModule {
  private unowned let script: Script
  private let taps: LuaClass<ScriptTap>
  private let blocks: LuaClass<ScriptBlock>
  private let effects: LuaClass<ScriptEffect>

  init(_ script: Script) throws {
    self.script = script
    taps = try LuaClass("tap", as: "stream.Tap", in: script.state) {
      "tap of \($0.what) (\($0.isActive ? "active" : "removed"))"
    }
    blocks = try LuaClass("block", as: "stream.Block", in: script.state) { $0.description }
    effects = try LuaClass("effect", as: "stream.Effect", in: script.state) { "effect \($0.name)" }
    defineTap()
    ScriptBlock.define(blocks)
  }

  // MARK: Effects

  /// `stream.effect`
  var effectTable: LuaValue {
    func effect(
      _ name: String, arity count: Int = 1, _ make: @escaping (LuaCall) throws -> SoundEffect
    ) -> LuaFunction {
      LuaFunction(name, arity: count) { [unowned self] call in
        call.return(effects(ScriptEffect(name: name, effect: try make(call))))
      }
    }
    return script.state.table(
      "stream.effect",
      [
        effect("gain") { .gain(try $0.number(1, in: Decibels.gainRange)) },
        effect("equalizer") { .equalizer(try $0.equalizer(1)) },
        effect("mono", arity: 0) { _ in .mono },
        effect("swap", arity: 0) { _ in .swap },
        effect("lowpass") { .lowpass(try $0.number(1, in: PassFilter.range)) },
        effect("highpass") { .highpass(try $0.number(1, in: PassFilter.range)) },
      ])
  }

  // MARK: Methods of streams

  func define(on streams: LuaClass<ScriptStream>) {
    streams.field(ofStream: "gain") { .number($0.gain) }
    streams.method(ofStream: "set_gain", arity: 1) { stream, call in
      stream.setGain(try call.number(2, in: Decibels.gainRange))
      return .none
    }
    streams.method(ofStream: "meter", arity: 1) { stream, call in
      stream.isMetered = try call.bool(2)
      return .none
    }
    streams.method(ofStream: "levels", arity: 0) { stream, call in
      guard stream.isMetered else {
        throw LuaError(
          code: "argument", message: "the stream is not metered", hint: "call radio:meter(true) before")
      }
      let reading = stream.levels
      func level(_ decibels: Double?) -> LuaValue { .number(decibels ?? -.infinity) }
      return call.return(
        .record([
          ("left", level(reading?.left.rmsDBFS)), ("right", level(reading?.right.rmsDBFS)),
          ("peak_left", level(reading?.left.peakDBFS)), ("peak_right", level(reading?.right.peakDBFS)),
        ]))
    }
    streams.method("tap", arity: 1) { [unowned self] object, call in try tap(object, call) }
  }

  /// `radio:tap(fn or effect)`
  private func tap(_ object: ScriptStream, _ call: LuaCall) throws -> LuaReturn {
    let held = try script.objects.hold(.tap)
    let new: ScriptTap
    if let effect = call.optionalObject(2, effects) {
      new = ScriptTap("effect \(effect.name)", object.stream.tap(.effect(effect.effect)))
    } else {
      guard call.state.typeName(call.value(2)) == "function" else {
        throw call.mismatch(2, "function or effect")
      }
      let function = try call.function(2)
      let place = Place()
      let tap = object.stream.tap(
        .blocks { [weak self, weak object, loop = script.loop] block in
          // In a turn of its own, like events: so `tap_created` comes before the first block.
          loop.next {
            guard let self, let tap = place.tap else { return block.finish(changed: false) }
            self.run(function, on: block, for: tap, of: object?.stream.shownURL)
          }
        })
      new = ScriptTap("a function", tap)
      place.tap = new
    }
    let unsubscribe = new.tap.onEvent { [weak self, weak object, new] event in
      guard let self, let object else { return }
      emit(event, of: new, object)
    }
    let forget = script.root { new.remove() }
    let number = object.taps.add(new)
    new.onRemove = { [weak object] in
      // The events refer to the tap.
      unsubscribe()
      forget()
      held.release()
      object?.taps.remove(number)
    }
    return call.return(taps(new))
  }

  /// The tap of a function, which is made after the function.
  private final class Place { weak var tap: ScriptTap? }

  /// Runs a tap's function on a block. A tap whose function runs too long is removed, as it would run too
  /// long for each of 25 blocks a second.
  private func run(_ function: LuaReference, on block: TapBlock, for tap: ScriptTap, of url: String?) {
    let shown = ScriptBlock(block)
    let routine = script.call(
      function, [blocks(shown)], name: "a tap", isWanted: { tap.tap.wants(block) },
      maySuspend: false, repeats: tap.repeats, onFailure: { tap.failures += 1 })
    guard let routine else { return block.finish(changed: false) }
    routine.whenEnded { [weak script] outcome in
      let isChanged = shown.end()
      switch outcome {
      case .returned: block.finish(changed: isChanged)
      case .failed(let error) where error.code == "script.blocked":
        block.finish(changed: false)
        guard tap.isActive else { return }
        tap.remove()
        let stream = url.map { " of \($0)" } ?? ""
        let line = error.location.map { [("where", $0)] } ?? []
        script?.onLog(.warn, "a tap\(stream) is removed, as its function ran too long", line)
      case .failed, .cancelled: block.finish(changed: false)
      }
    }
  }

  private func emit(_ event: TapEvent, of tap: ScriptTap, _ object: ScriptStream) {
    func facts(_ format: AudioFormat) -> LuaValue {
      .record([("tap", taps(tap)), ("rate", .int(format.sampleRate)), ("channels", .int(format.channels))])
    }
    switch event {
    case .begins(let format): object.emit("tap_created", facts(format))
    case .ended(let format): object.emit("tap_disposed", facts(format))
    case .overran(let time):
      object.emit("tap_overrun", .record([("tap", taps(tap)), ("seconds", .number(time.inSeconds))]))
    }
  }

  // MARK: The tap

  private func defineTap() {
    taps.field("active", changedBy: "remove") { tap, call in call.return(tap.isActive) }
    taps.field("failures") { tap, call in call.return(tap.failures) }
    taps.field("overruns") { tap, call in call.return(tap.tap.overruns) }
    taps.method("remove", arity: 0) { tap, _ in
      tap.remove()
      return .none
    }
  }
}

/// A tap as a script has it.
final class ScriptTap {
  let what: String
  let tap: StreamTap
  /// Calls of its function that failed.
  var failures = 0
  let repeats = RepeatedFailure()
  var onRemove: () -> Void = {}

  init(_ what: String, _ tap: StreamTap) {
    self.what = what
    self.tap = tap
  }

  var isActive: Bool { tap.isActive }

  func remove() {
    tap.remove()
    onRemove()
    onRemove = {}
  }
}

/// An effect as a script has it.
final class ScriptEffect {
  let name: String
  let effect: SoundEffect

  init(name: String, effect: SoundEffect) {
    self.name = name
    self.effect = effect
  }
}
