package import WebServer

/// The settings of the page's server and its webhooks.
public struct PageSettings: Sendable, Equatable {
  /// A webhook: a token that fires its triggers alone.
  public struct Hook: Sendable, Equatable {
    /// The name, which causes show.
    public let name: String
    /// The triggers that it may fire.
    public let triggers: [String]
    /// The path of the file with its token; nil for one in the folder of the state.
    public let tokenFile: String?
  }

  /// The files of the certificate and its key, for TLS.
  public struct TLS: Sendable, Equatable {
    public let certificate: String, key: String
  }

  /// The address at which the server listens.
  package var listen: ListenAddress
  /// The certificate; nil for plain HTTP.
  public var tls: TLS?
  /// Further names of the server, besides those of the machine.
  public var names: [String] = []
  /// The webhooks, sorted by name.
  public var hooks: [Hook] = []

  package init(listen: ListenAddress) { self.listen = listen }

  /// The most webhooks, triggers of one, and names.
  static let mostHooks = 1000, mostTriggers = 100, mostNames = 64

  /// The path of the file with the token of a hook; nil without a folder for it.
  public func tokenFile(of hook: Hook, stateFolder: String?) -> String? {
    hook.tokenFile ?? stateFolder.map { "\($0)/hooks/\(hook.name).token" }
  }
}
