internal import EventLoop
internal import LuaRuntime
public import StreamKit

/// Stations that have a name, which stands wherever a URL does.
public struct NamedStations: Sendable, Equatable {
  /// URLs by name.
  public var urls: [String: String]
  /// The settings of stations, by name.
  public var settings: [String: StationSettings] = [:]
  /// Settings of the command line, which come before those of each station.
  public var common = StationSettings()

  /// These stations.
  public init(_ urls: [String: String] = [:]) { self.urls = urls }

  /// The URL that a person means: that of a station of this name, else what was given.
  /// - Throws: `stream.url` for what is neither a URL nor a name.
  public func url(_ given: String) throws(StreamError) -> String {
    if let url = urls[given] { return url }
    guard !urls.isEmpty, !given.isEmpty, StreamURL.scheme(given) == nil else { return given }
    let name = String(given.prefix(100)).onOneLine
    throw StreamError(
      .url, unknown("station", name, among: Array(urls.keys)),
      hint: nearest(name, among: Array(urls.keys)) == nil
        ? "stations have their names in the configuration; a URL begins with http:// or https://" : nil,
      facts: [.init("url", .string(StreamURL.shown(given)))])
  }

  /// The options of the station of this name, or of a URL.
  /// - Throws: `stream.auth` for a password that can't be read.
  func options(for given: String, from options: StreamOptions = .init()) throws(StreamError) -> StreamOptions
  {
    var options = options
    if let settings = settings[given] { try settings.apply(to: &options) }
    try common.apply(to: &options)
    return options
  }

  /// Whether a person can type it and tell it from a URL and a path: `morning`, `Radio 5`.
  public static func isName(_ text: String) -> Bool {
    let isOdd = { (scalar: Unicode.Scalar) in
      scalar == "/" || scalar == ":" || scalar.properties.generalCategory == .control
    }
    return !text.isEmpty && text.first != " " && text.last != " " && text.first != "-"
      && text.utf8.count <= 100
      && !text.unicodeScalars.contains(where: isOdd)
  }
}
