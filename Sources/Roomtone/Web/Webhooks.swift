internal import EventLoop
internal import Home
internal import JSONText
internal import WebServer

/// The webhooks: decides by the head of a request which trigger a token may fire. The server's thread.
struct Webhooks: Sendable {
  /// A hook with its token.
  struct Hook: Sendable {
    let name: String
    let triggers: Set<String>
    let token: TokenHash
  }

  /// A request to fire a trigger, whose token is correct.
  struct Call: Sendable {
    let hook: String
    let trigger: String
    let value: JSON?
  }

  /// The most triggers of a name in a second.
  static let mostPerSecond = 20
  /// The most bytes of a body.
  static let largestBody = Trigger.largestValue

  /// The limits, which outlive a reload.
  final class Limits: Sendable {
    let attempts = TokenAttempts()
    fileprivate let rates = Lock(
      RateLimits<String>(most: mostPerSecond, in: .seconds(1), mostKeys: 10_000))
  }

  private let hooks: [Hook]
  private let limits: Limits
  /// Receives the first wrong token of a client in a minute: its address.
  private let onWrongToken: @Sendable (_ peer: String) -> Void
  private let fire: @Sendable (Call, @escaping @Sendable (WebAnswer) -> Void) -> Void

  init(
    _ hooks: [Hook], _ limits: Limits, onWrongToken: @escaping @Sendable (_ peer: String) -> Void,
    fire: @escaping @Sendable (Call, @escaping @Sendable (WebAnswer) -> Void) -> Void
  ) { (self.hooks, self.limits, self.onWrongToken, self.fire) = (hooks, limits, onWrongToken, fire) }

  /// The route of the hooks.
  var route: WebRoute {
    WebRoute("/trigger/", methods: ["POST"]) { head, name in
      decide(head, name, at: ConnectionDeadlines.now)
    }
  }

  /// Decides on a request for the trigger called `name`.
  func decide(_ head: RequestHead, _ name: String, at now: Instant) -> RequestVerdict {
    switch hook(head, at: now) {
    case .refused(let answer): return .answer(answer)
    case .found(let hook):
      guard hook.triggers.contains(name) else {
        return .answer(
          WebAnswer(
            403, "hook.trigger", "the token does not fire the trigger \(quoted(name))",
            hint: "the configuration lists the triggers of a hook: page { hooks = { … } }"))
      }
      if let delay = limits.rates.withLock({ $0.admit(name, at: now).delay }) {
        return .answer(
          WebAnswer(
            429, "hook.rate",
            "the trigger \(quoted(name)) comes more than \(Self.mostPerSecond) times a second",
            headers: [Self.retry(after: delay)]))
      }
      return .receive(BodyLimit(Self.largestBody, Self.tooLarge)) { [fire] exchange, body in
        switch TriggerBody.read(body, contentType: head.header("content-type")) {
        case .refused(let answer): exchange.answer(answer)
        case .value(let value):
          fire(Call(hook: hook.name, trigger: name, value: value)) { exchange.answer($0) }
        }
      }
    }
  }

  private static let tooLarge = WebAnswer(
    413, "hook.too_large", "the body has more than \(largestBody >> 10) KiB")

  private enum Finding {
    case found(Hook)
    case refused(WebAnswer)
  }

  private func hook(_ head: RequestHead, at now: Instant) -> Finding {
    guard let token = Self.token(of: head) else {
      return .refused(
        WebAnswer(
          401, "hook.token", "a token is missing",
          hint: "send the header Authorization: Bearer TOKEN, or ?token=TOKEN where headers can't be set",
          headers: [Self.challenge]))
    }
    let hash = TokenHash(token)
    var found: Hook?
    // All hooks are compared, so that the time does not depend on which one it is.
    for hook in hooks where hook.token == hash { found = hook }
    if let found { return .found(found) }
    let (delay, isFirst) = limits.attempts.wrong(head.peer, at: now)
    if let delay {
      return .refused(
        WebAnswer(
          429, "hook.attempts", "too many wrong tokens from this address", headers: [Self.retry(after: delay)]
        ))
    }
    if isFirst { onWrongToken(head.peer.map { "\($0)" } ?? "an unknown address") }
    return .refused(WebAnswer(401, "hook.token", "the token is wrong", headers: [Self.challenge]))
  }

  private static let challenge = (name: "WWW-Authenticate", value: "Bearer")

  private static func retry(after delay: Duration) -> (name: String, value: String) {
    ("Retry-After", "\(max(1, Int(delay.inSeconds.rounded(.up))))")
  }

  /// Returns the token of a request; nil without one. The header counts before the argument, which is for clients that can
  /// set nothing but a URL. Source: RFC 6750 §2.1, §2.3.
  private static func token(of head: RequestHead) -> String? {
    guard let header = head.header("authorization") else { return head.argument("token") }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1].drop { $0 == " " })
  }
}
