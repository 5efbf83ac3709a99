internal import EventLoop
internal import MQTT

// Triggers from topics.

extension MQTTService {
  /// A trigger whose rules a process beside the house needs.
  struct Need {
    let hold: Hold
    let ends: [() -> Void]
    var listeners = 0
  }

  /// Begins to connect for a script that listens for a trigger that comes from a topic. A process beside the house subscribes
  /// for as long as one listens, and its loop then waits for the messages.
  /// - Returns: a function that ends that.
  public func need(trigger name: String) -> () -> Void {
    let indices = rules.indices.filter { rules[$0].name == name }
    guard !indices.isEmpty, isConfigured else { return {} }
    start()
    guard role == .guest, !isSimulated else { return {} }
    if needed[name] == nil {
      needed[name] = Need(hold: holdLoop(), ends: indices.map { listen(toRule: $0) })
    }
    needed[name]?.listeners += 1
    return { [weak self] in self?.endNeed(name) }
  }

  private func endNeed(_ name: String) {
    needed[name]?.listeners -= 1
    guard let need = needed[name], need.listeners == 0 else { return }
    needed[name] = nil
    for end in need.ends { end() }
    need.hold.release()
  }

  func listenForTriggers() {
    guard role == .house || isSimulated, !listensForTriggers else { return }
    listensForTriggers = true
    for index in rules.indices { _ = listen(toRule: index) }
  }

  private func listen(toRule index: Int) -> () -> Void {
    subscribe(to: rules[index].filter) { [weak self] in self?.apply(index, $0) }
  }

  private func apply(_ index: Int, _ message: MQTTMessage) {
    let name = rules[index].name
    switch rules[index].receive(message, at: loop.now) {
    case .fires(let value):
      let payload = String(decoding: message.payload.prefix(String.longestExcerpt), as: UTF8.self)
      triggers.fire(
        Trigger(name, value: value, origin: .mqtt, sender: "topic \(message.topic): \(payload)".onOneLine))
    case .passes: break
    case .exceeds: complaints.addExcess(of: name)
    case .faulty(let reason): complaints.add(message.topic, "no trigger \(quoted(name)): \(reason)")
    }
  }
}
