internal import Crypto
internal import EventLoop
internal import Glibc
internal import Home
internal import JSONText
internal import WebServer

/// The page's server of a daemon: its address, its certificate, its webhooks. Confined to the loop.
///
/// The server has a thread of its own, which sleeps in epoll: handshakes of TLS, wrong tokens and slow clients cost
/// the loop nothing, and a request reaches it when its token is correct and its body is complete.
final class PageServer {
  private enum Phase {
    case closed
    /// The files are read for the first time.
    case opening
    case listening(WebServer, HTTPDaemon.Identity?)
    /// The server could not be started, and is tried again.
    case failed(any CodedError, LoopTimer)
    /// The server accepts no further requests, and has answered those that waited.
    case ending(WebServer)
  }

  private let settings: PageSettings
  private let loop: EventLoop
  private let log: (LogLevel, String) -> Void
  private let perform: (ControlRequest) -> Void
  private let limits = Webhooks.Limits()
  private var phase = Phase.closed
  /// The number of the server, as reloads replace it: those that wait at an earlier one are answered already.
  private var generation = 0
  private var backoff = PageServer.retries
  /// The files as they were last read; nil before.
  private var files: PageContents?
  private let reader: PageReader

  private static let retries = Backoff(from: .seconds(1), upTo: .seconds(60))

  /// A server that does not listen yet.
  /// - Parameter perform: receives each request for a trigger, as a method of the control protocol.
  init(
    _ settings: PageSettings, stateFolder: String?, loop: EventLoop,
    log: @escaping (LogLevel, String) -> Void,
    perform: @escaping (ControlRequest) -> Void
  ) {
    (self.settings, self.loop, self.log, self.perform) = (settings, loop, log, perform)
    reader = PageReader(settings, stateFolder: stateFolder, loop: loop)
  }

  // MARK: The course

  /// Reads the files, then listens. A failure is logged, and tried again after a while: an address may come with the
  /// network.
  func open() {
    phase = .opening
    read()
  }

  /// `true` while files are read; the status is that of the files before until then.
  var isReading: Bool { reader.isReading }
  /// Told when files have been read.
  var onRead: () -> Void {
    get { reader.onEnd }
    set { reader.onEnd = newValue }
  }

  private func read() { reader.read { [weak self] in self?.use($0) } }

  private func use(_ result: Result<PageContents, PageError>) {
    switch (phase, result) {
    case (.closed, _), (.ending, _): break
    case (.listening, .failure(let error)):
      log(.error, "\(error.description); the tokens and the certificate before are in use")
    case (_, .failure(let error)): fail(error)
    case (.listening(let server, let identity), .success(let files)):
      keep(files)
      replace(server, identity)
    case (_, .success(let files)):
      keep(files)
      listen()
    }
  }

  private func keep(_ files: PageContents) {
    let before = self.files?.tokens.refused.map(\.error) ?? []
    self.files = files
    for (hook, error) in files.tokens.refused where !before.contains(error) {
      log(.error, "the webhook \(quoted(hook)) is off: \(error.description)")
    }
  }

  /// Listens with the files as they were read.
  private func listen() {
    guard let files else { return read() }
    do {
      let identity = try files.identity.get()
      let server = try WebServer(
        settings.listen, identity: identity, router: router(files.tokens), loop: loop)
      phase = .listening(server, identity)
      backoff = Self.retries
      announce(files.tokens)
    } catch let error as any CodedError { fail(error) } catch {
      fail(WebError(.failed, "can't serve the page: \(error)"))
    }
  }

  /// Uses the files that were read again.
  private func replace(_ server: WebServer, _ identity: HTTPDaemon.Identity?) {
    guard let files else { return }
    let router = router(files.tokens)
    switch files.identity {
    case .success(let new) where new != identity:
      server.quiesce()
      server.stop()
      phase = .closed
      generation += 1
      listen()
    case .success: server.use(router)
    case .failure(let error):
      log(.error, "\(error.description); the certificate before is in use")
      server.use(router)
    }
  }

  private func announce(_ tokens: HookTokens) {
    let count = tokens.hooks.count
    log(.info, "the page's server listens at \(settings.url), with \(count) webhook\(count == 1 ? "" : "s")")
    if settings.tls == nil, !settings.listen.address.isLoopback {
      log(
        .warn,
        "tokens can be read in the network: \(settings.listen) is plain http; page { tls = … } encrypts it")
    }
  }

  private func fail(_ error: any CodedError) {
    if case .failed(let last, let timer) = phase {
      timer.cancel()
      if last.description != error.description { log(.error, error.description) }
    } else {
      log(.error, "the page is not served: \(error.description)")
    }
    phase = .failed(
      error, loop.after(backoff.next(), keepsAlive: false) { [weak self] in self?.retry() })
  }

  /// Tries again to listen: with the same files, unless they are the reason of the failure.
  private func retry() {
    if case .success? = files?.identity { listen() } else { read() }
  }

  /// Reads tokens and certificate again.
  func reload() {
    switch phase {
    case .closed, .ending: return
    case .failed(_, let timer):
      timer.cancel()
      backoff = Self.retries
    case .opening, .listening: break
    }
    read()
  }

  /// Accepts no further requests, and answers those that wait.
  func quiesce() {
    switch phase {
    case .closed, .ending: break
    case .opening: phase = .closed
    case .failed(_, let timer):
      timer.cancel()
      phase = .closed
    case .listening(let server, _):
      server.quiesce()
      phase = .ending(server)
    }
  }

  /// Ends the server. A second call does nothing.
  func close() {
    quiesce()
    if case .ending(let server) = phase { server.stop() }
    phase = .closed
  }

  // MARK: Requests

  private func router(_ tokens: HookTokens) -> WebRouter {
    let reference = LoopReference(self)
    let (loop, generation) = (loop, generation)
    let webhooks = Webhooks(
      tokens.hooks, limits,
      onWrongToken: { peer in loop.post { reference.object?.reportWrongToken(peer) } },
      fire: { call, answer in loop.post { reference.object?.fire(call, generation, answer) } })
    return WebRouter(
      hosts: AllowedHosts(hostName: Machine.hostName, names: settings.names), routes: [webhooks.route])
  }

  private func reportWrongToken(_ peer: String) {
    log(.warn, "a wrong token from \(peer) for a webhook; others within a minute are not reported")
  }

  private func fire(
    _ call: Webhooks.Call, _ generation: Int, _ answer: @escaping @Sendable (WebAnswer) -> Void
  ) {
    // A request that came with the end is answered already.
    guard case .listening = phase, generation == self.generation else { return }
    var parameters: [(name: String, value: JSON)] = [("name", .string(call.trigger))]
    if let value = call.value { parameters.append(("value", value)) }
    let request = ControlRequest(
      RPCRequest(id: .null, method: "trigger", parameters: .object(parameters)), by: .webhook(call.hook),
      respond: { answer(Self.answer($0)) }, push: { _, _ in false })
    log(.debug, "the webhook \(quoted(call.hook)) fires the trigger \(quoted(call.trigger))")
    perform(request)
  }

  private static func answer(_ result: Result<JSON, RPCError>) -> WebAnswer {
    switch result {
    case .success(let result): return WebAnswer(200, json: result.line)
    case .failure(let error):
      let status =
        switch error.code {
        case "trigger.too_large": 413
        case "trigger.name": 400
        default: 500
        }
      return WebAnswer(status, error.code, error.message, hint: error.hint)
    }
  }

  // MARK: Status

  /// The state for clients of the control protocol.
  var status: JSON {
    var error: String?
    if case .failed(let failure, _) = phase { error = failure.description }
    let isListening = if case .listening = phase { true } else { false }
    let tokens = files?.tokens ?? HookTokens()
    return .object([
      ("url", .string(settings.url)), ("listening", .bool(isListening)), ("error", .optional(error)),
      ("hooks", .number(tokens.hooks.count)),
      ("token_files", .object(tokens.marks.map { ($0.hook, .string($0.mark)) })),
      (
        "refused",
        .array(
          tokens.refused.map {
            .object([("hook", .string($0.hook)), ("error", .string($0.error.description))])
          })
      ),
    ])
  }
}
