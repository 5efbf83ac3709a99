internal import EventLoop
public import HTTP
public import Reception
internal import StreamCore

/// The origin of the streams of an engine.
public enum StreamSource {
  /// Servers; the network thread is requested when a stream starts.
  case network(() throws -> NetworkThread)
  /// Stations that are simulated, on the loop.
  case simulation(SimulatedStations)

  /// Creates the receiver of the stream at `listed` into `tee`. On the loop's thread.
  func makeReceiver(
    of listed: ListedAddress, _ options: ReceiverOptions, on loop: EventLoop, into tee: FrameTee,
    report: @escaping @Sendable (ReceiverEvent) -> Void
  ) throws -> any StreamReceiver {
    let address = listed.address
    switch self {
    case .network(let thread) where address.scheme.isRTSP:
      return RTSPReceiver(at: address, options: options, network: try thread(), tee: tee, report: report)
    case .network(let thread):
      return StationReceiver(
        at: address, depth: listed.depth, options: options, network: try thread(), tee: tee,
        report: report)
    case .simulation(let stations):
      let station: SimulatedStation
      do throws(StreamError) { station = try stations.station(at: address, asFile: options.isFile) } catch {
        return FailedReceiver(error, report: report)
      }
      return SimulatedReceiver(
        at: address, station: station, random: stations.random(for: address), options: options, loop: loop,
        tee: tee, report: report)
    }
  }

  /// The thread for metadata feeds; nil in a simulation, which has no feeds.
  var feedThread: NetworkThread? {
    guard case .network(let thread) = self else { return nil }
    return try? thread()
  }
}

/// A receiver of a stream that can't be requested: reports the reason like a failed first connection.
private final class FailedReceiver: StreamReceiver {
  private let error: StreamError
  private let report: @Sendable (ReceiverEvent) -> Void

  init(_ error: StreamError, report: @escaping @Sendable (ReceiverEvent) -> Void) {
    (self.error, self.report) = (error, report)
  }

  func start() {
    report(.connecting)
    report(.failed(error))
    report(.gaveUp(error))
  }

  func stop() {}
}
