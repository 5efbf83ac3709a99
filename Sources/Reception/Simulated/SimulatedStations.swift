public import EventLoop
public import StreamCore

/// The stations of a simulation, by address. Every address leads to one: unlisted stations play a tune.
/// Confined to the loop.
public final class SimulatedStations {
  private let stations: [StreamAddress: SimulatedStation]
  private let makeTune: (() throws(StreamError) -> StationSound)?
  private var tune: StationSound?
  /// The seed of the random sources.
  private let seed: UInt64

  /// - Parameters:
  ///   - stations: the stations by their addresses, without user and password.
  ///   - tune: makes the sound of all other stations; without it they do not exist.
  public init(
    _ stations: [StreamAddress: SimulatedStation] = [:], seed: UInt64 = 0,
    tune: (() throws(StreamError) -> StationSound)? = nil
  ) {
    self.stations = stations
    makeTune = tune
    self.seed = seed
  }

  /// Returns the station at `address`.
  /// - Parameter isFile: `true` if it is requested as a file.
  /// - Throws: `stream.not_found` if it is not listed and there is no tune; `stream.unsupported` for a
  ///   station that is requested as a file.
  package func station(at address: StreamAddress, asFile isFile: Bool?) throws(StreamError)
    -> SimulatedStation
  {
    let station = try listed(address)
    if case .programme = station.content, isFile == true {
      throw StreamError(
        .unsupported, "\(address) is simulated as a station, and is_file says that it is a file",
        hint: "list it with is_file = true in the file of --stations",
        facts: [.init("url", .string(address.description))])
    }
    return station
  }

  private func listed(_ address: StreamAddress) throws(StreamError) -> SimulatedStation {
    if let station = stations[address.withoutCredentials] { return station }
    var station = SimulatedStation(.programme(try theTune()))
    let name = Self.name(of: address)
    station.name = name
    station.titles = [.init("\(name) - a simulated programme", at: .zero)]
    return station
  }

  /// Returns the random source for the connections to `address`, the same every time.
  package func random(for address: StreamAddress) -> SeededRandom {
    SeededRandom(seed: seed ^ Array(address.textWithCredentials.utf8).withUnsafeBytes { FrameHash.of($0) })
  }

  private func theTune() throws(StreamError) -> StationSound {
    if let tune { return tune }
    guard let makeTune else {
      throw StreamError(
        .notFound, "no simulated station is there, and no tune for others",
        hint: "list it with --stations FILE.lua")
    }
    let new = try makeTune()
    tune = new
    return new
  }

  /// Returns the last part of the path without its suffix, else the host.
  private static func name(of address: StreamAddress) -> String {
    let last = address.path.split(separator: "/").last ?? ""
    let stem = last.split(separator: ".", omittingEmptySubsequences: false).first ?? ""
    return stem.isEmpty ? address.host : String(stem)
  }
}
