internal import CAvahi
package import EventLoop
internal import Glibc

/// The machine and control port of a snapserver.
struct SnapserverAddress: Equatable, Sendable {
  /// The name or address of the machine.
  let host: String
  let port: Int
  /// The name under which the network announces the server; nil for one that was not found by a search.
  var name: String?

  /// The address on one line, for messages.
  var text: String { "\(host.onOneLine) port \(port)" }
}

/// A search for the snapservers that announce their control on the local network, through Avahi.
///
/// Waits, and so belongs on a thread of its own: the bus and Avahi's daemon may hang. Their reports come from
/// outside: names are for messages alone, addresses are numbers.
final class SnapserverSearch {
  /// A server that was announced.
  struct Server: Equatable, Sendable {
    let name: String
    /// The IPv4 address.
    let address: String
    /// The port of the control.
    let port: Int
    /// `true` if it runs on this machine.
    let isLocal: Bool
  }

  /// The result of a search.
  enum Outcome: Equatable, Sendable {
    /// Servers by their names, those of this machine first; each once, however many interfaces announce it.
    case found([Server])
    /// The network can't be searched without Avahi; the text is Avahi's error.
    case unavailable(String)

    /// The servers that were found; none without Avahi.
    var servers: [Server] { if case .found(let servers) = self { servers } else { [] } }
  }

  /// The service that a snapserver announces for its control.
  private static let service = "_snapcast-jsonrpc._tcp"
  /// The maximum number of announcements that are examined.
  private static let mostServers = 64

  /// The time for which a server that was lost is looked for alone, before another one of the network is
  /// connected: it may only be restarting.
  static let loyalty = Duration.seconds(30)

  private static let library = SharedLibrary<avahi_library>(
    "libavahi-client.so.3", package: "libavahi-client3", names: avahi_names())

  private let avahi: avahi_library
  private var servers: [Server] = []
  /// The number of announcements whose addresses are requested.
  private var unresolved = 0
  private var count = 0
  private var isComplete = false
  private var failure: String?

  /// The failure to load Avahi's client; nil when it is there.
  static var libraryFailure: LibraryError? { library.failure }

  private init(_ avahi: avahi_library) { self.avahi = avahi }

  /// Searches for at most that many seconds.
  static func run(seconds: Int) -> Outcome {
    let search: SnapserverSearch
    do throws(LibraryError) { search = SnapserverSearch(try library.functions) } catch {
      return .unavailable("\(error)")
    }
    search.run(until: .now + .seconds(seconds))
    if search.servers.isEmpty, let failure = search.failure { return .unavailable(failure) }
    return .found(ordered(search.servers))
  }

  /// Returns servers in the order of preference.
  static func ordered(_ servers: [Server]) -> [Server] {
    var names: Set<String> = []
    return servers.sorted {
      ($0.isLocal ? 0 : 1, $0.name, $0.address, $0.port) < ($1.isLocal ? 0 : 1, $1.name, $1.address, $1.port)
    }.filter { names.insert($0.name).inserted }
  }

  /// Returns the addresses at which a server that was lost is looked for, in the order in which they are tried.
  ///
  /// The server of its name comes first, wherever it is now, then the address that it had. Others of the network follow
  /// when it has been away for `loyalty`, in the order of preference; where none is announced, that of the settings.
  /// - Parameters:
  ///   - found: the servers that the network announces.
  ///   - known: the server that was connected last.
  ///   - fallback: the address of the settings.
  ///   - absence: time since the server was lost.
  static func addresses(
    of found: [Server], known: SnapserverAddress, fallback: SnapserverAddress, absence: Duration
  ) -> [SnapserverAddress] {
    let servers = ordered(found).map { SnapserverAddress(host: $0.address, port: $0.port, name: $0.name) }
    var addresses = servers.filter { $0.name == known.name } + [known]
    if absence >= loyalty { addresses += servers }
    if servers.isEmpty { addresses.append(fallback) }
    var places: Set<String> = []
    return addresses.filter { places.insert($0.text).inserted }
  }

  private func run(until deadline: ContinuousClock.Instant) {
    guard let poll = avahi.avahi_simple_poll_new() else { return failure = "out of memory" }
    defer { avahi.avahi_simple_poll_free(poll) }
    // Unretained: the client, which has the callbacks, ends before this function returns.
    let this = Unmanaged.passUnretained(self).toOpaque()
    var error: Int32 = 0
    let client = avahi.avahi_client_new(
      avahi.avahi_simple_poll_get(poll), AvahiClientFlags(rawValue: 0),
      { client, state, this in
        guard state == AVAHI_CLIENT_FAILURE else { return }
        guard let search = SnapserverSearch.of(this) else { return }
        search.failure = search.text(search.avahi.avahi_client_errno(client))
      }, this, &error)
    guard let client else { return failure = text(error) }
    defer { avahi.avahi_client_free(client) }
    guard browse(client, this) else { return failure = text(avahi.avahi_client_errno(client)) }
    while failure == nil, !isComplete || unresolved > 0, .now < deadline {
      guard avahi.avahi_simple_poll_iterate(poll, 50) == 0 else { return }
    }
  }

  private func browse(_ client: OpaquePointer, _ this: UnsafeMutableRawPointer) -> Bool {
    let browser = avahi.avahi_service_browser_new(
      client, AvahiIfIndex(AVAHI_IF_UNSPEC), AvahiProtocol(AVAHI_PROTO_UNSPEC), Self.service, nil,
      AvahiLookupFlags(rawValue: 0),
      { browser, interface, way, event, name, type, domain, _, this in
        guard let search = SnapserverSearch.of(this) else { return }
        let client = search.avahi.avahi_service_browser_get_client(browser)
        switch event {
        case AVAHI_BROWSER_NEW: search.resolve(client, interface, way, name, type, domain, this)
        case AVAHI_BROWSER_ALL_FOR_NOW: search.isComplete = true
        case AVAHI_BROWSER_FAILURE: search.failure = search.text(search.avahi.avahi_client_errno(client))
        default: break
        }
      }, this)
    return browser != nil
  }

  private func resolve(
    _ client: OpaquePointer?, _ interface: AvahiIfIndex, _ way: AvahiProtocol, _ name: UnsafePointer<CChar>?,
    _ type: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?, _ this: UnsafeMutableRawPointer?
  ) {
    guard count < Self.mostServers else { return }
    count += 1
    let resolver = avahi.avahi_service_resolver_new(
      client, interface, way, name, type, domain, AvahiProtocol(AVAHI_PROTO_INET), AVAHI_LOOKUP_NO_TXT,
      { resolver, _, _, event, name, _, _, _, address, port, _, flags, this in
        guard let search = SnapserverSearch.of(this) else { return }
        search.unresolved -= 1
        if event == AVAHI_RESOLVER_FOUND, let name, let address, port > 0 {
          search.servers.append(
            Server(
              name: String(cString: name).cleaned, address: search.text(address), port: Int(port),
              isLocal: flags.rawValue & AVAHI_LOOKUP_RESULT_LOCAL.rawValue != 0))
        }
        _ = search.avahi.avahi_service_resolver_free(resolver)
      }, this)
    if resolver != nil { unresolved += 1 }
  }

  private static func of(_ this: UnsafeMutableRawPointer?) -> SnapserverSearch? {
    this.map { Unmanaged<SnapserverSearch>.fromOpaque($0).takeUnretainedValue() }
  }

  private func text(_ error: Int32) -> String {
    avahi.avahi_strerror(error).map { String(cString: $0).lowercased() } ?? "error \(error)"
  }

  private func text(_ address: UnsafePointer<AvahiAddress>) -> String {
    var bytes = [CChar](repeating: 0, count: Int(AVAHI_ADDRESS_STR_MAX))
    _ = avahi.avahi_address_snprint(&bytes, bytes.count, address)
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The library that finds snapservers.
package enum AvahiLibrary {
  /// The failure to load Avahi's client; nil when it is there.
  package static var failure: LibraryError? { SnapserverSearch.libraryFailure }
}
