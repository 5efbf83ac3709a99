internal import EventLoop
internal import WebServer

/// The tokens of the webhooks as their files were read.
struct HookTokens: Sendable {
  /// The hooks whose tokens can be used.
  private(set) var hooks: [Webhooks.Hook] = []
  /// The marks of their files by hook, with which clients see whether a file has changed since.
  private(set) var marks: [(hook: String, mark: String)] = []
  /// The hooks whose tokens can't be used, and the reasons.
  private(set) var refused: [(hook: String, error: PageError)] = []

  /// No tokens.
  init() {}

  /// Reads the tokens of all hooks, and makes those that are missing. Waits for file systems.
  init(_ settings: PageSettings, stateFolder: String?) {
    var new: String?
    for hook in settings.hooks {
      do throws(PageError) {
        if try read(hook, settings, stateFolder) {
          new = settings.tokenFile(of: hook, stateFolder: stateFolder)
        }
      } catch { refused.append((hook.name, error)) }
    }
    // New ones are all in one folder.
    if let new { TokenFile.syncFolder(of: new) }
  }

  /// - Returns: `true` if the file is new.
  private mutating func read(
    _ hook: PageSettings.Hook, _ settings: PageSettings, _ stateFolder: String?
  ) throws(PageError) -> Bool {
    let file = try PageFiles.token(of: hook, settings, stateFolder)
    let token = TokenHash(file.token)
    if let other = hooks.first(where: { $0.token == token }) {
      throw PageError(
        .token, "the hooks \(quoted(other.name)) and \(quoted(hook.name)) have the same token",
        hint: "a token belongs to one hook, which may have several triggers")
    }
    hooks.append(Webhooks.Hook(name: hook.name, triggers: Set(hook.triggers), token: token))
    marks.append((hook.name, file.mark))
    return file.isNew
  }
}
