internal import EventLoop
internal import Glibc
internal import Home
internal import Roomtone
internal import Scheduling

/// Checks of the page's server: its address, its certificate, the tokens of its webhooks.
enum PageChecks {
  /// The time before the end of a certificate from which on it is reported.
  private static let renewal = 14 * 86_400

  static func table(_ subject: DoctorSubject) -> [Check] {
    let page = subject.configuration.page
    return [Check(["page"], isAskedFor: page != nil) { page.map(findings) ?? [none] }]
  }

  private static let none = Finding.ok("page", "not configured: nothing listens")

  /// Returns the findings for the server and for each part of it that does not work.
  static func findings(_ page: PageSettings) -> [Finding] {
    let (address, served) = address(page)
    let tokens = page.hooks.compactMap { token(of: $0, page, served) }
    return [address] + [certificate(page)].compactMap { $0 } + tokens
  }

  // MARK: Address

  /// Returns the finding for the address, and the page of a daemon that listens there.
  private static func address(_ page: PageSettings) -> (Finding, ServedPage?) {
    do {
      if let served = try ServedPage.ofDaemon() {
        if let difference = served.difference(from: page) {
          return (.warn("page", difference.message, hint: difference.hint), nil)
        }
        if let error = served.error { return (.fail("page", error, hint: nil), nil) }
        let hooks = served.hookCount
        let webhooks = "\(hooks) webhook\(hooks == 1 ? "" : "s")"
        return (.ok("page", "the daemon listens at \(page.url), with \(webhooks)"), served)
      }
    } catch let error as any CodedError {
      let message = "the daemon does not say whether it listens: \(error.message)"
      return (.warn("page", message, hint: error.hint), nil)
    } catch { return (.warn("page", "the daemon does not say whether it listens: \(error)", hint: nil), nil) }
    if let failure = PageFiles.listenFailure(page) {
      return (.fail("page", failure.message, hint: failure.hint), nil)
    }
    return (.ok("page", "\(page.url) is free: `roomtone serve` listens there"), nil)
  }

  // MARK: Files

  /// Returns the finding for a certificate that does not work, or soon will not; nil for a good one.
  private static func certificate(_ page: PageSettings) -> Finding? {
    guard let tls = page.tls else { return nil }
    do throws(PageError) {
      let now = Timestamp.now
      let facts = try PageFiles.facts(of: tls, at: now)
      let date = "\(ProcessZone().local(WallTime(seconds: Int64(facts.expires))).date)"
      let path = tls.certificate.onOneLine
      if facts.isInvalid {
        return .fail(
          "page", "the certificate in \(path) is not valid now; it expires on \(date)",
          hint: "renew it, then `systemctl --user reload roomtone` or SIGHUP")
      }
      guard facts.expires - Int(now.seconds) < renewal else { return nil }
      return .warn("page", "the certificate in \(path) expires on \(date)", hint: "renew it")
    } catch { return .fail("page", error.message, hint: error.hint) }
  }

  /// Returns the finding for a token that can't be used, or that the daemon has not read; nil for a good one, and for
  /// one that the next start makes.
  private static func token(
    of hook: PageSettings.Hook, _ page: PageSettings, _ served: ServedPage?
  ) -> Finding? {
    guard let path = page.tokenFile(of: hook, stateFolder: UserFolders.state) else { return nil }
    if hook.tokenFile != nil || access(path, F_OK) == 0 {
      do throws(PageError) { _ = try TokenFile.read(path) } catch {
        return .fail("page", "webhook \(quoted(hook.name)): \(error.message)", hint: error.hint)
      }
    }
    return served?.difference(of: hook, tokenFile: path).map { .fail("page", $0.message, hint: $0.hint) }
  }
}
