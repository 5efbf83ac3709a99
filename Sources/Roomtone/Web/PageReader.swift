internal import EventLoop
internal import WebServer

/// The files of the page's server as they were read.
struct PageContents: Sendable {
  let tokens: HookTokens
  /// The certificate, nil for plain HTTP, or the reason why it can't be used.
  let identity: Result<HTTPDaemon.Identity?, PageError>

  /// Reads the files, and makes missing tokens. Waits for file systems.
  init(_ settings: PageSettings, stateFolder: String?) {
    tokens = HookTokens(settings, stateFolder: stateFolder)
    let tls = settings.tls
    identity = Result { () throws(PageError) in
      if let tls { try PageFiles.identity(tls) } else { nil }
    }
  }
}

/// Reads the files of the page's server on a thread of their own, as a mount may never answer. Confined to the loop.
final class PageReader {
  private enum Phase {
    case idle
    case reading
    /// The files may have changed since the reading began, and are read once more.
    case outdated
  }

  /// Told when a reading has ended.
  var onEnd: () -> Void = {}
  private let loop: EventLoop
  private let path: String
  private let contents: @Sendable () -> PageContents
  private let limit: Duration
  private var phase = Phase.idle
  /// `true` while a thread reads, also one that was given up: a mount that hangs holds one thread, not one a retry.
  private let hasThread = Lock(false)

  /// - Parameter limit: the time within which the files are read.
  convenience init(
    _ settings: PageSettings, stateFolder: String?, loop: EventLoop, limit: Duration = FileDeadline.limit
  ) {
    let path = settings.tls?.certificate ?? settings.hooks.lazy.compactMap(\.tokenFile).first
    self.init(path ?? stateFolder ?? "/", loop: loop, limit: limit) {
      PageContents(settings, stateFolder: stateFolder)
    }
  }

  /// - Parameters:
  ///   - path: the path that is named where no file system answers.
  ///   - contents: reads the files, on another thread.
  init(
    _ path: String, loop: EventLoop, limit: Duration, contents: @escaping @Sendable () -> PageContents
  ) { (self.path, self.loop, self.limit, self.contents) = (path, loop, limit, contents) }

  /// `true` while files are read.
  var isReading: Bool { if case .idle = phase { false } else { true } }

  /// Reads the files; once more where they are read already.
  /// - Parameter then: receives them, or the failure; that of the reading under way serves a call beside it.
  func read(_ then: @escaping (Result<PageContents, PageError>) -> Void) {
    guard case .idle = phase else {
      phase = .outdated
      return
    }
    loop.start { [self] in
      var result: Result<PageContents, PageError>
      repeat {
        phase = .reading
        result = await readOnce()
      } while isOutdated
      phase = .idle
      then(result)
      onEnd()
    }
  }

  private var isOutdated: Bool { if case .outdated = phase { true } else { false } }

  private func readOnce() async -> Result<PageContents, PageError> {
    let (hasThread, contents) = (hasThread, contents)
    let isFree = hasThread.withLock { hasThread in
      defer { hasThread = true }
      return !hasThread
    }
    guard isFree else { return .failure(silence) }
    do {
      let found = try await loop.callFiles(atMost: limit) {
        defer { hasThread.withLock { $0 = false } }
        return contents()
      }
      return found.map { .success($0) } ?? .failure(silence)
    } catch {
      // No thread was left, so that none has read.
      hasThread.withLock { $0 = false }
      return .failure(PageError(.files, "can't read the files of the page: \(error)"))
    }
  }

  private var silence: PageError {
    let (cause, hint) = FileDeadline.silence(of: path, within: limit)
    return PageError(.files, "can't read the files of the page: \(cause)", hint: hint)
  }
}
