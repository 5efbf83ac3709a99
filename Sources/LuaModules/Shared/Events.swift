internal import EventLoop
internal import Home
internal import LuaRuntime

/// The events of one kind of object.
struct EventSource<Object> {
  /// The names of the events; empty if any text may name one.
  let names: [String]
  /// Returns the name in messages of a listener's routine.
  var label: (_ event: String) -> String = { "on \"\($0)\"" }
  /// Returns the cause of the actions of a listener at a line of the script, in the turn of the event.
  var cause: (_ object: Object, _ event: String, _ place: LuaSite?, _ now: WallTime) -> Cause = {
    Cause(.event, $1, script: $2?.file, line: $2?.line ?? 0, at: $3)
  }
  /// `true` if the event is the cause of the further actions of a routine that has waited for it.
  var leads = false
  /// Calls `deliver` with the payload of every event `name` of `object`, and `closed` when no more can come;
  /// returns the function that ends the subscription.
  let subscribe:
    (
      _ object: Object, _ name: String, _ deliver: @escaping (LuaValue) -> Void,
      _ closed: @escaping () -> Void
    ) throws
      -> () -> Void
}

/// A subscription, as `on` and `once` return it.
final class ScriptSubscription {
  let event: String
  /// Calls of the listener that failed.
  var failures = 0
  var isActive = true
  fileprivate var end: () -> Void = {}
  private let held: ScriptObjects.Held

  fileprivate init(event: String, _ held: ScriptObjects.Held) { (self.event, self.held) = (event, held) }

  func cancel() {
    guard isActive else { return }
    isActive = false
    held.release()
    end()
    end = {}
  }
}

/// `on`, `once` and `wait`: the same for every object and every module that has events.
final class ScriptEvents {
  private unowned let script: Script
  private let subscriptions: LuaClass<ScriptSubscription>

  init(_ script: Script) throws {
    self.script = script
    subscriptions = try LuaClass("subscription", as: "Subscription", in: script.state) {
      "subscription to \"\($0.event)\" (\($0.isActive ? "active" : "cancelled"))"
    }
    subscriptions.field("event") { subscription, call in call.return(.string(subscription.event)) }
    subscriptions.field("active", changedBy: "cancel") { subscription, call in
      call.return(subscription.isActive)
    }
    subscriptions.field("failures") { subscription, call in call.return(subscription.failures) }
    subscriptions.method("cancel", arity: 0) { subscription, _ in
      subscription.cancel()
      return .none
    }
  }

  /// Adds the three methods to a class.
  func add<Object: AnyObject>(to type: LuaClass<Object>, _ source: EventSource<Object>) {
    type.method("on", arity: 2) { object, call in try self.on(object, call, 2, source, once: false) }
    type.method("once", arity: 2) { object, call in try self.on(object, call, 2, source, once: true) }
    type.method("wait", arity: 2) { object, call in try self.wait(object, call, 2, source) }
  }

  /// `on(event, fn)`, with the event as argument `first`.
  /// - Parameter options: the number of arguments between the event and the function.
  func on<Object>(
    _ object: Object, _ call: LuaCall, _ first: Int, _ source: EventSource<Object>, once: Bool,
    options: Int = 0
  ) throws -> LuaReturn {
    let event = try name(call, first, source.names)
    let owner = call.definition
    let function = try call.function(first + 1 + options)
    let subscription = ScriptSubscription(event: event, try script.objects.hold(.subscription))
    let script = script
    let place = script.state.running?.site
    let end = try source.subscribe(
      object, event,
      { [unowned script] payload in
        script.report(payload, of: event, to: owner)
        guard subscription.isActive else { return }
        // Checked again in the listener's turn: another listener may have cancelled it.
        script.call(
          function, [payload], name: source.label(event),
          isWanted: {
            defer { if once { subscription.cancel() } }
            return subscription.isActive
          }, cause: source.cause(object, event, place, script.loop.wallNow),
          onFailure: { subscription.failures += 1 }
        )
      },
      { subscription.cancel() })
    // Cancelled with the script, as the closures that the source keeps refer to the subscription.
    let forget = script.root { subscription.cancel() }
    let leave = script.listSubscription(source.label(event))
    subscription.end = {
      forget()
      leave()
      end()
    }
    return call.return(subscriptions(subscription))
  }

  /// `wait(event [, timeout])`: the payload; nil and "timeout"; nil and "closed".
  /// - Parameter options: the number of arguments between the event and the timeout.
  func wait<Object>(
    _ object: Object, _ call: LuaCall, _ first: Int, _ source: EventSource<Object>, options: Int = 0
  ) throws -> LuaReturn {
    let event = try name(call, first, source.names)
    let timeout = try call.optionalDuration(first + 1 + options)
    let (loop, script, owner) = (script.loop, script, call.definition)
    let place = source.leads ? script.state.running?.site : nil
    return try call.suspend { continuation in
      var finish: (() -> Void)?
      let end = try source.subscribe(
        object, event,
        { [unowned script] payload in
          script.report(payload, of: event, to: owner)
          finish?()
          if source.leads { continuation.context = source.cause(object, event, place, loop.wallNow) }
          continuation.resume(returning: [payload])
        },
        {
          finish?()
          continuation.resume(returning: [.nil, .string("closed")])
        })
      let timer = timeout.map { time in
        loop.after(time) {
          finish?()
          continuation.resume(returning: [.nil, .string("timeout")])
        }
      }
      finish = {
        finish = nil
        timer?.cancel()
        end()
      }
      return { finish?() }
    }
  }

  private func name(_ call: LuaCall, _ number: Int, _ names: [String]) throws -> String {
    let name = try call.string(number, .name)
    guard names.isEmpty || names.contains(name) else {
      throw call.problem(
        number, "no event is called '\(name)'; events here: \(names.joined(separator: ", "))")
    }
    return name
  }
}
