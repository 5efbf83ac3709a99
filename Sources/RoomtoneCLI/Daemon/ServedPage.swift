internal import JSONText
internal import Roomtone

/// The page's server as the daemon describes it, beside the configuration and the files of this moment.
struct ServedPage {
  private let status: JSON

  /// The server of the daemon's answer to `status`.
  init(status: JSON) { self.status = status["page"] ?? .null }

  /// Returns the page of the daemon; nil when none runs.
  /// - Throws: `ctl.socket` and others if it does not answer.
  static func ofDaemon() throws -> ServedPage? {
    try ControlClient.daemon().map { ServedPage(status: try $0.call("status")) }
  }

  /// The failure to listen; nil while it listens.
  var error: String? { status["error"]?.text }
  /// The number of webhooks that can be used.
  var hookCount: Int { status["hooks"]?.int ?? 0 }

  /// A difference between the daemon and the configuration or the files, and the remedy.
  struct Difference {
    let message: String
    let hint: String
  }

  private static let start = "start the daemon again, to read its configuration"
  private static let reload = "`roomtone ctl reload` has the daemon read it"

  /// Returns the difference of the address; nil for the configured one.
  func difference(from page: PageSettings) -> Difference? {
    guard let url = status["url"]?.text else {
      return Difference(message: "the daemon runs without a page", hint: Self.start)
    }
    return url == page.url
      ? nil : Difference(message: "the daemon listens at \(url), not at \(page.url)", hint: Self.start)
  }

  /// Returns the reason why the daemon does not accept the token that is in the file of a hook; nil if it does.
  func difference(of hook: PageSettings.Hook, tokenFile path: String) -> Difference? {
    let refused = status["refused"]?.elements ?? []
    if let own = refused.first(where: { $0["hook"]?.text == hook.name }) {
      let error = own["error"]?.text ?? ""
      return Difference(message: "the webhook \(quoted(hook.name)) is off: \(error)", hint: Self.reload)
    }
    guard let mark = status["token_files"]?[hook.name]?.text else {
      return Difference(
        message: "the daemon does not know the webhook \(quoted(hook.name))", hint: Self.start)
    }
    return mark == TokenFile.mark(path)
      ? nil
      : Difference(
        message: "the token file of the webhook \(quoted(hook.name)) has changed since the daemon read it",
        hint: Self.reload)
  }
}
