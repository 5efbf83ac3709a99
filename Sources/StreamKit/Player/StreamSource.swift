internal import EventLoop
public import HTTP

/// Where the streams of an engine come from.
public enum StreamSource {
  /// Servers; the thread that talks to them is asked for when a stream starts.
  case network(() throws -> NetworkThread)
  /// Stations that are simulated, on the loop.
  case simulation(SimulatedStations)

  /// Makes the receiver of the stream at `address` into `outlet`. The loop's thread.
  func makeReceiver(
    of address: ListedURL, _ options: Reception.Options, on loop: EventLoop, into outlet: FrameOutlet,
    tell: @escaping @Sendable (ReceptionEvent) -> Void
  ) throws -> any StreamReceiver {
    let url = address.url
    switch self {
    case .network(let thread):
      return Reception(
        url: url, depth: address.depth, options: options, network: try thread(), outlet: outlet, tell: tell)
    case .simulation(let stations):
      let station: SimulatedStation
      do throws(StreamError) { station = try stations.station(at: url, asFile: options.isFile) } catch {
        return FailedReception(error, tell: tell)
      }
      return SimulatedReception(
        url: url, station: station, chance: stations.chance(for: url), options: options, loop: loop,
        outlet: outlet, tell: tell)
    }
  }

  /// The thread for what a station tells beside its stream; nil in a simulation, where it tells nothing there.
  var feedThread: NetworkThread? {
    guard case .network(let thread) = self else { return nil }
    return try? thread()
  }
}

/// What can't even be asked for: tells why, as a first connection that fails.
private final class FailedReception: StreamReceiver {
  private let error: StreamError
  private let tell: @Sendable (ReceptionEvent) -> Void

  init(_ error: StreamError, tell: @escaping @Sendable (ReceptionEvent) -> Void) {
    (self.error, self.tell) = (error, tell)
  }

  func start() {
    tell(.connecting)
    tell(.failed(error))
    tell(.gaveUp(error))
  }

  func stop() {}
}
