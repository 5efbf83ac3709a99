/// The names by which clients may reach a server, against pages of other sites whose name leads here (DNS rebinding).
package struct AllowedHosts: Sendable, Equatable {
  /// The names in lower case.
  private let names: Set<String>
  /// The numeric addresses besides those by which connections come, such as that of a router that forwards them.
  private let addresses: Set<NetworkAddress>

  /// The names of a machine called `hostName`, and others, which may be numeric addresses.
  package init(hostName: String?, names: [String] = []) {
    var all: Set = ["localhost"]
    if let hostName = hostName?.lowercased(), !hostName.isEmpty {
      let short = hostName.prefix { $0 != "." }
      all.formUnion([hostName, String(short), "\(short).local"])
    }
    self.names = all.union(names.map { Self.withoutDot($0.lowercased()) })
    addresses = Set(names.compactMap { NetworkAddress($0) })
  }

  /// The fault of a request.
  package enum Fault: Equatable, Sendable {
    /// The header Host is missing, repeated or invalid.
    case invalidHost
    /// The header Host names another machine.
    case foreignHost(String)
    /// The request comes from a page of another site.
    case foreignOrigin
  }

  /// Returns the fault of a request; nil for one from a correct name. A numeric address is a given one or that by which
  /// the connection has come, so that those of all interfaces are allowed, also new ones.
  package func fault(of head: RequestHead) -> Fault? {
    let hosts = head.values("host")
    guard hosts.count == 1, let host = Self.host(of: hosts[0]) else { return .invalidHost }
    guard isAllowed(host, head.local) else { return .foreignHost(host) }
    let origins = head.values("origin")
    guard let origin = origins.first else { return nil }
    // Browsers send the origin of the page; with Host it has the name and the port of this server.
    let parts = origin.lowercased().split(separator: "/", omittingEmptySubsequences: false)
    guard origins.count == 1, parts.count == 3, parts[0] == "http:" || parts[0] == "https:", parts[1].isEmpty,
      parts[2] == hosts[0].lowercased()
    else { return .foreignOrigin }
    return nil
  }

  private func isAllowed(_ host: String, _ local: NetworkAddress?) -> Bool {
    if let address = NetworkAddress(host) { return address == local || addresses.contains(address) }
    return names.contains(Self.withoutDot(host))
  }

  /// Returns a name without the dot of the root at its end.
  private static func withoutDot(_ name: String) -> String {
    name.hasSuffix(".") ? String(name.dropLast()) : name
  }

  /// Returns the name or address of a Host header in lower case, without its port; nil for an invalid one.
  /// Source: RFC 9110 §7.2.
  private static func host(of value: String) -> String? {
    guard value.utf8.count <= 255 else { return nil }
    let value = value.lowercased()
    var host = value[...]
    var port: Substring?
    if value.hasPrefix("[") {
      guard let end = value.firstIndex(of: "]") else { return nil }
      host = value[value.index(after: value.startIndex)..<end]
      let rest = value[value.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
      port = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = value.firstIndex(of: ":") {
      (host, port) = (value[..<colon], value[value.index(after: colon)...])
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    guard port?.utf8.allSatisfy({ (0x30...0x39).contains($0) }) ?? true else { return nil }
    return String(host)
  }
}
