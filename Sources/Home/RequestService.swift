public import HTTP
internal import EventLoop

/// The response of a server of a simulation.
public struct SimulatedAnswer: Sendable {
  /// The status code.
  public var status: Int
  /// The header fields.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]

  /// An answer of `status`.
  public init(status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }
}

/// The requests of scripts to servers: on the network thread that streams use, or answered by the servers of a
/// simulation. Confined to the loop.
public final class RequestService {
  private let streams: StreamService
  private let answers: [String: SimulatedAnswer]

  /// Creates a service.
  /// - Parameters:
  ///   - streams: the service with the network thread.
  ///   - answers: the answers of a simulation, by the `key` of their requests.
  public init(streams: StreamService, answers: [String: SimulatedAnswer] = [:]) {
    (self.streams, self.answers) = (streams, answers)
  }

  /// Returns the URL of a request in the form that identifies its answer: without credentials and fragment, the host in
  /// lower case.
  public static func key(of request: HTTPRequest) -> String {
    let parts = request.url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return (parts.prefix(3).map { $0.lowercased() } + parts.dropFirst(3).map(String.init)).joined(
      separator: "/")
  }

  /// `true` if a simulation answers, not the network.
  public var isSimulated: Bool { streams.loop.isVirtual }

  /// Fetches a whole response.
  /// - Parameter limit: the most bytes of the body.
  /// - Returns: the response; nil for a request of a simulation that no server answers.
  /// - Throws: `HTTPError`, `CancellationError`.
  public func fetch(
    _ request: HTTPRequest, limit: Int
  ) async throws -> (head: HTTPResponse, body: [UInt8])? {
    guard isSimulated else {
      return try await streams.network().fetch(request, limit: limit, on: streams.loop)
    }
    guard let answer = answers[Self.key(of: request)] else { return nil }
    guard answer.body.count <= limit else {
      throw HTTPError(
        .tooLarge, host: request.host, "\(answer.body.count) bytes, where \(limit) are the limit")
    }
    return (
      HTTPResponse(status: answer.status, url: request.url, headers: HTTPHeaders(answer.headers)), answer.body
    )
  }
}
