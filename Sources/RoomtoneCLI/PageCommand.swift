internal import EventLoop
internal import Home
internal import Roomtone

/// Command `roomtone page`: the address of the page's server, and the lines that call its webhooks.
enum PageCommand {
  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    let configuration = try EngineSetup.configuration(file: arguments.text(.config))
    guard let page = configuration.page else {
      throw PageError(
        .none, "the configuration has no page: nothing listens",
        hint: "page { hooks = { doorbell = { triggers = { \"doorbell\" } } } } in config.lua begins one")
    }
    guard let name = arguments.text(.curl) else {
      Terminal.print(page.url)
      return 0
    }
    let hook = try hook(name, of: page)
    // Reads it, so that a wrong file is reported here, and makes that of a hook that is new.
    _ = try PageFiles.token(of: hook, page, UserFolders.state)
    guard let file = page.tokenFile(of: hook, stateFolder: UserFolders.state) else { return 1 }
    warn(hook, page, tokenFile: file)
    var authority: String?
    if let tls = page.tls {
      let facts = try PageFiles.facts(of: tls, at: Timestamp.now)
      authority = facts.isSelfSigned ? tls.certificate : nil
    }
    for trigger in hook.triggers {
      Terminal.print(line(page.url, trigger, tokenFile: file, authority: authority))
    }
    return 0
  }

  /// Says why the daemon that runs would refuse the printed lines.
  private static func warn(_ hook: PageSettings.Hook, _ page: PageSettings, tokenFile: String) {
    do {
      guard let served = try ServedPage.ofDaemon() else { return }
      let difference = served.difference(from: page) ?? served.difference(of: hook, tokenFile: tokenFile)
      if let difference { Terminal.log(.warn, "\(difference.message); \(difference.hint)", []) }
      if let error = served.error { Terminal.log(.warn, "the page is not served: \(error)", []) }
    } catch { Terminal.log(.warn, "the daemon does not say whether it knows the webhook: \(error)", []) }
  }

  private static func hook(_ name: String, of page: PageSettings) throws -> PageSettings.Hook {
    if let hook = page.hooks.first(where: { $0.name == name }) { return hook }
    let names = page.hooks.map(\.name)
    let hint =
      nearest(name, among: names).map { "did you mean \(quoted($0))?" }
      ?? (names.isEmpty
        ? "page { hooks = { … } } has none" : "there are \(names.map { quoted($0) }.joined(separator: ", "))")
    throw PageError(.unknownHook, "no webhook is called \(quoted(name))", hint: hint)
  }

  /// Returns the line of a shell that fires a trigger; it reads the token from its file, so that neither the history of
  /// the shell nor a script holds it.
  /// - Parameter authority: the path of a certificate that curl does not trust by itself; nil without one.
  static func line(_ url: String, _ trigger: String, tokenFile: String, authority: String?) -> String {
    (["curl", "-fsS", "-X", "POST"] + (authority.map { ["--cacert", ShellWord.quoted($0)] } ?? [])
      + ["-H", "\"Authorization: Bearer $(cat \(ShellWord.quoted(tokenFile)))\""]
      + [ShellWord.quoted("\(url)/trigger/\(trigger)")]).joined(separator: " ")
  }
}

extension OptionSpec {
  static let curl = OptionSpec(
    "curl", .text, valueName: "NAME", sources: [.names(.hooks)],
    "prints the line of a shell that calls the webhook NAME, for each of its triggers")
}

extension CommandSpec {
  static let page = CommandSpec(
    name: "page",
    summary: "prints the address of the page's server, and how its webhooks are called",
    operands: [],
    options: [.curl, .config],
    notes: [
      """
      The daemon listens where the configuration has 'page': 'roomtone help configuration'. The token of a webhook \
      fires its triggers and nothing else. It is in a file of the folder of the state, made by the first start, or in the \
      one that the configuration names; 'roomtone help webhooks' says what can be sent.
      """
    ],
    examples: [
      ExampleSpec("roomtone page", "the address"),
      ExampleSpec("roomtone page --curl doorbell", "the line that rings, for a script or a terminal"),
    ])
}
