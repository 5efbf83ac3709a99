internal import EventLoop
internal import Glibc
public import MQTT

extension MQTTOptions {
  /// Connects to the broker as a guest of the house, and ends. Blocks the calling thread.
  /// - Returns: nil if the broker has accepted the login; otherwise the failure.
  public func probe(within limit: Duration) -> MQTTFailure? {
    let loop = EventLoop(name: "broker")
    defer { loop.close() }
    let network: LoopThread
    do throws(LoopError) { network = try LoopThread(name: "network") } catch {
      return .network(error.message)
    }
    defer { network.close() }
    var result: MQTTFailure??
    let connection = MQTTConnection(
      connection(ofHouse: false, process: getpid(), host: "doctor"), on: network.loop, owner: loop, seed: 0,
      onReport: { report in
        switch report {
        case .connected: result = .some(nil)
        case .unreachable(let failure): result = failure
        case .disconnected(let reason, _): result = .network(reason)
        default: break
        }
      }, onDropped: { _ in }, onMessage: { _, _ in })
    let hold = loop.hold("a broker is asked")
    loop.after(limit) { result = result ?? .network("it does not answer") }
    connection.start()
    _ = loop.run(until: { result != nil })
    connection.close()
    hold.release()
    return result ?? nil
  }
}
