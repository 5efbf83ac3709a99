internal import EventLoop
internal import LuaModules
internal import LuaRuntime
internal import SpeakerKit

// `house { … }`: the driver and its options.

extension Configuration {
  /// Names of the drivers, the default one first.
  public static var driverNames: [String] { DriverKinds.all.map { $0.name } }

  /// Selects a driver in place of the configured one, with its configured settings or else the usual ones.
  /// - Parameter name: one of `driverNames`.
  /// - Throws: `argument` for a hub without a configured address.
  public mutating func useDriver(_ name: String) throws {
    guard name != driverName, let kind = DriverKinds.named(name) else { return }
    if kind is HouseSettings.Type { return driver = house }
    do throws(SpeakerError) { driver = try kind.usual() } catch {
      throw LuaError(code: "argument", message: error.message, hint: error.hint)
    }
  }

  static func readHouse(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let kinds = DriverKinds.all
    let options = try call.options(1, ["driver", "default_rooms"] + kinds.flatMap { $0.options.map(\.name) })
    if let rooms = try options.names("default_rooms", limit: 256) { configuration.defaultRooms = rooms }
    let name = try options.string("driver") ?? HouseSettings.name
    guard let kind = DriverKinds.named(name) else {
      throw options.problem("driver", unknown("driver", name, among: driverNames))
    }
    let own = Set(kind.options.map(\.name))
    for other in kinds where other.name != name {
      guard let option = other.options.first(where: { !own.contains($0.name) && options[$0.name] != nil })
      else { continue }
      throw options.problem(
        option.name,
        "the driver \"\(name)\" has none; it has \(kind.options.map(\.name).joined(separator: ", "))")
    }
    let declared = options.declared(kind.options)
    guard kind is HouseSettings.Type else { return configuration.driver = try kind.init(declared) }
    configuration.driver = configuration.house
    try configuration.house.read(declared)
  }
}

extension LuaOptions {
  /// Returns options that are read in their forms.
  fileprivate func declared(_ options: [DriverOption]) -> DriverOptions {
    DriverOptions(
      read: { name in try options.first { $0.name == name }.flatMap(value) },
      refuse: { problem($0, $1, hint: $2) })
  }

  private func value(of option: DriverOption) throws -> Any? {
    let name = option.name
    switch option.form {
    case .text: return try string(name)
    case .name: return try string(name, .name)
    case .path: return try path(name)
    case .bool: return try bool(name)
    case .int(let range): return try int(name, in: range)
    case .duration: return try duration(name)
    case .ints(let limit, let expected):
      return try list(name, limit: limit, expected: expected)?.map { element in
        guard case .int(let number) = element else { throw problem(name, expected) }
        return number
      }
    case .table(let inner):
      return try self[name].map { try nested(name, $0, inner.map(\.name)).declared(inner) }
    case .tables(let limit, let inner, let expected):
      return try list(name, limit: limit, expected: expected)?.enumerated().map { index, entry in
        try nested("\(name)[\(index + 1)]", entry, inner.map(\.name)).declared(inner)
      }
    }
  }

  /// Returns a list of names that is not empty; nil when it is absent.
  fileprivate func names(_ name: String, limit: Int) throws -> [String]? {
    let expected = "a list of at most \(limit) names expected, as in { \"Kitchen\" }"
    let names = try list(name, limit: limit, expected: expected)?.map { element in
      guard case .string(let text) = element, !text.isEmpty else { throw problem(name, expected) }
      return try checked(text, .name, name)
    }
    if names?.isEmpty == true { throw problem(name, expected, hint: "leave it out for all rooms") }
    return names
  }

  private func list(_ name: String, limit: Int, expected: String) throws -> [LuaValue]? {
    guard let value = self[name] else { return nil }
    guard let list = state.list(value, limit: limit) else { throw problem(name, expected) }
    return list
  }
}
