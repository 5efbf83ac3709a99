import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

@Suite("How events reach listeners", .tags(.speaker, .events))
struct EventHubTests {
  private let loop = EventLoop(clock: .virtual(start: WallTime(seconds: 0)))

  private func error(_ code: String) -> HouseEvent {
    .error(code: code, message: "", device: nil, session: nil)
  }

  private func code(_ event: HouseEvent) -> String {
    if case .error(let code, _, _, _) = event { code } else { "?" }
  }

  @Test("in order of subscription, after the call that caused the event")
  func order() {
    let hub = EventHub(loop: loop)
    var calls: [String] = []
    hub.on(.error) { calls.append("first " + code($0)) }
    hub.on { calls.append("second " + code($0)) }
    hub.on(.time) { _ in calls.append("never") }
    hub.emit(error("a"))
    hub.emit(error("b"))
    #expect(calls.isEmpty)
    #expect(loop.run(until: { false }) == .idle)
    #expect(calls == ["first a", "second a", "first b", "second b"])
  }

  @Test("an event that a listener causes is published after the current one has reached all")
  func queued() {
    let hub = EventHub(loop: loop)
    var calls: [String] = []
    hub.on { event in
      calls.append("first " + code(event))
      if code(event) == "a" { hub.emit(error("b")) }
    }
    hub.on { calls.append("second " + code($0)) }
    hub.emit(error("a"))
    _ = loop.run(until: { false })
    hub.close()
    #expect(calls == ["first a", "second a", "first b", "second b"])
  }

  @Test("seconds are wanted while a listener receives them; one to all kinds may want none")
  func seconds() {
    let hub = EventHub(loop: loop)
    var wanted = 0
    hub.onSecondsWanted = { wanted += 1 }
    hub.on(wantsSeconds: false) { _ in }
    hub.on(.error) { _ in }
    #expect(!hub.wantsSeconds && wanted == 0)
    let first = hub.on(.time) { _ in }
    let all = hub.on { _ in }
    #expect(hub.wantsSeconds && wanted == 1)
    first.cancel()
    #expect(hub.wantsSeconds)
    all.cancel()
    #expect(!hub.wantsSeconds)
    hub.on(.time) { _ in }
    #expect(wanted == 2)
  }

  @Test("a listener gets no event from before its subscription")
  func late() {
    let hub = EventHub(loop: loop)
    var calls: [String] = []
    hub.emit(error("a"))
    hub.on { calls.append(code($0)) }
    hub.emit(error("b"))
    _ = loop.run(until: { false })
    #expect(calls == ["b"])
  }

  @Test("a cancelled listener is not called, not even for the event that is being published")
  func cancelled() {
    let hub = EventHub(loop: loop)
    var calls = 0
    var second: EventHub.Subscription?
    hub.on { _ in second?.cancel() }
    second = hub.on { _ in calls += 1 }
    hub.emit(error("a"))
    _ = loop.run(until: { false })
    #expect(calls == 0)
    #expect(second?.isActive == false)
  }

  @Test("closing inside a listener silences the other ones")
  func closing() {
    let hub = EventHub(loop: loop)
    var calls = 0
    hub.on { _ in hub.close() }
    hub.on { _ in calls += 1 }
    hub.emit(error("a"))
    hub.emit(error("b"))
    _ = loop.run(until: { false })
    #expect(calls == 0)
    #expect(!hub.on { _ in }.isActive)
  }

  @Test("listeners that answer each other for ever leave room for timers")
  func pingPong() {
    let hub = EventHub(loop: loop)
    var count = 0
    var timerFired = false
    hub.on { _ in
      count += 1
      if !timerFired && count < 100_000 { hub.emit(error("again")) }
    }
    loop.after(.zero) { timerFired = true }
    hub.emit(error("a"))
    _ = loop.run(until: { false })
    hub.close()
    #expect(timerFired)
    #expect(count < 100)
  }
}
