internal import AudioCore
internal import EventLoop
internal import Glibc
internal import Home
internal import LuaRuntime

/// The remote mounts that have answered lately: no call for files of another one is made on the loop, which it might
/// never leave. Confined to the loop.
final class MountAnswers {
  /// Time for which an answer counts.
  private static let validity = Duration.seconds(1)

  private let loop: EventLoop
  private var answered: [String: Instant] = [:]

  init(_ loop: EventLoop) { self.loop = loop }

  /// Suspends the routine until the mounts that hold the paths have answered; then the body of the function runs again.
  /// - Returns: the result with which the body returns at once; nil when all have answered.
  /// - Throws: `task.cannot_suspend`; the routine is resumed with `audio.unreadable` when a mount does not answer.
  func await(_ paths: [String], _ call: LuaCall) throws -> LuaReturn? {
    let asked = unanswered(paths)
    guard !asked.isEmpty else { return nil }
    return try call.suspendThenAgain { [self] in try await ask(asked) }
  }

  /// Suspends the routine until the mounts that hold the paths have answered.
  /// - Returns: no results; nil, the failure and its number, as functions of files do, when a mount does not answer.
  func answer(_ paths: [String], _ call: LuaCall) throws -> LuaReturn {
    let asked = unanswered(paths)
    guard !asked.isEmpty else { return .none }
    return try call.suspend { [self] in
      do {
        try await ask(asked)
        return []
      } catch let error as AudioError {
        return [.nil, .string(error.message), .int(Int(ETIMEDOUT))]
      }
    }
  }

  /// True if a call for one of the paths might never return.
  func areSilent(_ paths: [String]) -> Bool { !unanswered(paths).isEmpty }

  private func unanswered(_ paths: [String]) -> [(mount: RemoteMount, path: String)] {
    guard !loop.isVirtual else { return [] }
    return RemoteMount.holding(paths).filter { mount, _ in
      answered[mount.folder].map { $0.duration(to: loop.now) > Self.validity } ?? true
    }
  }

  private func ask(_ asked: [(mount: RemoteMount, path: String)]) async throws {
    for (mount, path) in asked {
      try await MusicFiles.awaitAnswer(of: [path], on: loop)
      answered[mount.folder] = loop.now
    }
  }
}
