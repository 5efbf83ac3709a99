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
  /// Times of the last answers, by the folder of the mount.
  private var answered: [String: Instant] = [:]
  /// The same, by paths that were asked for within the last second.
  private var answeredPaths: [String: Instant] = [:]

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

  /// Suspends the routine until the mounts that hold the paths have answered.
  /// - Returns: no results where the kernel alone answers for the paths, else `true`; nil, the failure and its number, as
  ///   functions of files do, when a mount does not answer.
  func answer(_ paths: [String], _ call: LuaCall) throws -> LuaReturn {
    // Reading line by line, a script comes here with each line.
    if let path = paths.first, paths.count == 1, let time = answeredPaths[path], isValid(time) {
      return call.return(true)
    }
    let mounts = loop.isVirtual ? [] : RemoteMount.holding(paths)
    guard !mounts.isEmpty else { return .none }
    let asked = unanswered(mounts)
    guard !asked.isEmpty else { return call.return(true) }
    return try call.suspend { [self] in
      do {
        try await ask(asked)
        answeredPaths = answeredPaths.filter { isValid($0.value) }
        for (_, path) in asked { answeredPaths[path] = loop.now }
        return [.bool(true)]
      } catch let error as AudioError {
        return [.nil, .string(error.message), .int(Int(ETIMEDOUT))]
      }
    }
  }

  /// True if a call for one of the paths might never return.
  func areSilent(_ paths: [String]) -> Bool { !unanswered(paths).isEmpty }

  private func isValid(_ answer: Instant) -> Bool { answer.duration(to: loop.now) <= Self.validity }

  private func unanswered(_ paths: [String]) -> [(mount: RemoteMount, path: String)] {
    loop.isVirtual ? [] : unanswered(RemoteMount.holding(paths))
  }

  private func unanswered(
    _ mounts: [(mount: RemoteMount, path: String)]
  ) -> [(mount: RemoteMount, path: String)] {
    mounts.filter { mount, _ in !(answered[mount.folder].map(isValid) ?? false) }
  }

  private func ask(_ asked: [(mount: RemoteMount, path: String)]) async throws {
    for (mount, path) in asked {
      try await MusicFiles.awaitAnswer(of: [path], on: loop)
      answered[mount.folder] = loop.now
    }
  }
}
