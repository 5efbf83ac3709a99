internal import EventLoop
internal import Home
public import JSONText
internal import SpeakerKit

/// The house of an engine in this process, with the methods of the control protocol, for a command that finds
/// no process with the house. Confined to the loop, except for `call`.
public final class LocalHouse {
  /// The end of a call by a signal.
  public struct Interrupted: Error {
    /// The exit status of the command: 128 and the number of the signal.
    public let status: Int32
  }

  private let engine: Engine
  private let place: String
  private let house: HouseMethods

  /// The house of `engine`, which is opened for a call.
  /// - Parameter place: the place of the person who sends requests, for the causes of changes.
  public init(_ engine: Engine, at place: String) {
    (self.engine, self.place) = (engine, place)
    house = HouseMethods(of: engine, isDaemon: false)
  }

  /// Opens the house, performs a method of the control protocol, and closes the house: an engine performs
  /// only one. Blocks the calling thread, which becomes the loop's.
  /// - Parameters:
  ///   - parameters: the parameters by name.
  ///   - onNotification: receives the notifications before the result, on the loop.
  /// - Throws: the error of opening the house; `RPCError`, the one that the method answers; `Interrupted`.
  public func call(
    _ method: String, _ parameters: [(name: String, value: JSON)],
    onNotification: @escaping (_ method: String, _ parameters: JSON) -> Void
  ) throws -> JSON {
    var result = JSON.null
    // Only a call that plays sound waits for another process that has the house.
    let run = try engine.perform(wait: engine.options.access == .drive ? nil : .zero) { [self] _ in
      let answer = PendingCall<JSON>()
      let request = start(method, parameters, onNotification) { answer.settle($0.mapError { $0 }) }
      result = try await answer.result(on: engine.loop, onCancel: { request.onCancel() })
    }
    guard run.status == 0 else { throw Interrupted(status: run.status) }
    return result
  }

  /// Begins a method while a call lasts.
  /// - Parameter onAnswer: receives its answer, on the loop.
  public func start(
    _ method: String, _ parameters: [(name: String, value: JSON)],
    onAnswer: @escaping (Result<JSON, RPCError>) -> Void
  ) { _ = start(method, parameters, { _, _ in }, onAnswer) }

  private func start(
    _ method: String, _ parameters: [(name: String, value: JSON)],
    _ onNotification: @escaping (String, JSON) -> Void, _ onAnswer: @escaping (Result<JSON, RPCError>) -> Void
  ) -> ControlRequest {
    let request = ControlRequest(
      RPCRequest(id: nil, method: method, parameters: .object(parameters)), at: place, respond: onAnswer,
      push: { method, parameters in
        onNotification(method, parameters)
        return true
      })
    house.perform(request, by: house.methods.merging(house.ofPlayback) { $1 }) {
      RPCError(.unknownMethod, "no method is called \"\(method)\"")
    }
    return request
  }
}
