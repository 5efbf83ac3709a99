internal import AudioCore
internal import EventLoop
internal import Glibc
internal import Home
internal import LuaRuntime

/// The remote mounts that have answered lately. The loop makes no call for files of other mounts, as such a
/// call might never return. Confined to the loop.
final class MountAnswers {
  /// The time for which an answer counts.
  private static let validity = Duration.seconds(1)

  private let loop: EventLoop
  /// The times of the last answers, by the folder of the mount.
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

  /// Suspends the routine until the mount that holds a file with a key or a password has answered; then the body of the
  /// function runs again. Where the routine can't suspend, the mount is expected to answer.
  /// - Parameter failure: returns the error for a mount that does not answer, from the end of a sentence and a hint.
  /// - Returns: the result with which the body returns at once; nil when the file can be read.
  func await(
    secret path: String?, _ call: LuaCall, failure: @escaping (_ cause: String, _ hint: String?) -> any Error
  ) throws -> LuaReturn? {
    guard let path, call.canSuspend else { return nil }
    let asked = unanswered([path])
    guard !asked.isEmpty else { return nil }
    return try call.suspendThenAgain { [self] in
      do { try await ask(asked) } catch is AudioError {
        let (cause, hint) = FileDeadline.silence(of: path)
        throw failure(cause, hint)
      }
    }
  }

  /// `true` if a call for one of the paths might never return.
  func areSilent(_ paths: [String]) -> Bool { !unanswered(paths).isEmpty }

  private func isValid(_ answer: Instant) -> Bool { answer.duration(to: loop.now) <= Self.validity }

  private func unanswered(_ paths: [String]) -> [(mount: RemoteMount, path: String)] {
    guard !loop.isVirtual else { return [] }
    return RemoteMount.holding(paths).filter { mount, _ in !(answered[mount.folder].map(isValid) ?? false) }
  }

  private func ask(_ asked: [(mount: RemoteMount, path: String)]) async throws {
    for (mount, path) in asked {
      try await MusicFiles.awaitAnswer(of: [path], on: loop)
      answered[mount.folder] = loop.now
    }
  }
}
