internal import EventLoop

/// The names that scripts may use: those of the house and of the configuration.
public struct HouseNames: Sendable {
  /// Names of the speakers; nil if they are not known.
  public var speakers: [String]?
  /// Names of the groups; nil if they are not known.
  public var groups: [String]?
  /// Ids of the speakers, which are also those of the groups.
  public var ids: [String]
  /// Names of the stations of the configuration.
  public var stations: [String]

  /// Creates a set of names.
  public init(
    speakers: [String]? = nil, groups: [String]? = nil, ids: [String] = [], stations: [String] = []
  ) {
    (self.speakers, self.groups, self.ids, self.stations) = (speakers, groups, ids, stations)
  }

  /// Adds a name that a script itself gives to a speaker or a group.
  mutating func add(_ name: String) {
    speakers?.append(name)
    groups?.append(name)
  }

  /// Returns the complaint about a text that matches no name or several, by the rules of `speaker.device`;
  /// nil for a text that matches one.
  func complaint(_ text: String, _ kind: String, among names: [String]) -> String? {
    let wanted = text.lowercased()
    if ids.contains(where: { $0.lowercased() == wanted }) { return nil }
    let lowered = names.map { $0.lowercased() }
    if lowered.contains(wanted) { return nil }
    let candidates = wanted.isEmpty ? [] : zip(names, lowered).filter { $0.1.contains(wanted) }.map(\.0)
    if candidates.count == 1 { return nil }
    if candidates.count > 1 {
      return "\(quoted(text)) could be several \(kind)s: "
        + candidates.map { quoted($0) }.joined(separator: ", ")
    }
    let words = names.flatMap { name in [name] + name.split(separator: " ").map(String.init) }
    let near = nearest(text, among: words).flatMap { word in names.first { $0 == word || $0.contains(word) } }
    let hint =
      near.map { "did you mean \(quoted($0))?" } ?? "there are "
      + names.prefix(12).map { quoted($0) }.joined(separator: ", ")
    return "no \(kind) is called \(quoted(text)); \(names.isEmpty ? "there are no \(kind)s" : hint)"
  }
}
