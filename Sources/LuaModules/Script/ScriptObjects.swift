internal import EventLoop
internal import LuaRuntime

/// Counts the objects that the host keeps for a script. Lua's memory limit does not count their memory.
///
/// Confined to the loop.
final class ScriptObjects {
  /// The kinds of objects that are counted.
  enum Kind: String, CaseIterable {
    case stream, session, job, subscription, tap, task
  }

  /// The count of one object, which ends when this is released, or with `release`.
  final class Held {
    private weak var objects: ScriptObjects?
    private let kind: Kind

    fileprivate init(_ kind: Kind, _ objects: ScriptObjects) { (self.kind, self.objects) = (kind, objects) }

    deinit { release() }

    /// Ends the count. A second call does nothing.
    func release() {
      objects?.count(kind, -1)
      objects = nil
    }
  }

  private unowned let state: LuaState
  private var counts: [Kind: Int] = [:]
  private var total = 0

  init(_ state: LuaState) { self.state = state }

  private func count(_ kind: Kind, _ change: Int) {
    counts[kind, default: 0] += change
    total += change
  }

  /// `true` if there is no room for one more object, even after a garbage collection.
  var isFull: Bool {
    if total >= state.limits.objects { state.collectGarbage() }
    return total >= state.limits.objects
  }

  /// Counts one more object.
  /// - Throws: `script.objects` when the limit is reached.
  func hold(_ kind: Kind) throws -> Held {
    if isFull { throw tooMany }
    count(kind, 1)
    return Held(kind, self)
  }

  /// Checks that there is room within the script's memory limit for objects that the host keeps.
  /// - Parameters:
  ///   - bytes: the memory that such objects need on the host, including one more.
  ///   - what: the objects so far, for the message.
  /// - Throws: `script.memory` when the limit is exceeded even after a garbage collection.
  func checkMemory(_ bytes: Int, of what: String) throws {
    let limit = state.limits.memory
    if state.memory.now + bytes > limit { state.collectGarbage() }
    guard state.memory.now + bytes > limit else { return }
    throw LuaError(
      code: "script.memory",
      message: "the script's memory limit of \(limit >> 20) MB is reached: it has \(what)",
      hint: "stop some, or raise limits { memory = … } in the configuration",
      facts: [ErrorFact("limit", .int(limit))])
  }

  /// Checks that the buffers of the streams that the script plays stay within their limit.
  /// - Parameters:
  ///   - bytes: the memory that they may need, including one more.
  ///   - count: the number of streams that play.
  /// - Throws: `script.memory`.
  func checkBuffers(_ bytes: Int, ofStreams count: Int) throws {
    let limit = state.limits.buffers
    guard bytes > limit else { return }
    throw LuaError(
      code: "script.memory",
      message:
        "the limit of \(limit >> 20) MB for the buffers of a script's streams is reached: \(count) others play",
      hint: "stop some, give a smaller buffer_blocks, or raise limits { buffers = … } in the configuration",
      facts: [ErrorFact("limit", .int(limit))])
  }

  private var tooMany: LuaError {
    let kinds = Kind.allCases.compactMap { kind in
      let count = counts[kind] ?? 0
      return count == 0 ? nil : "\(count) \(kind.rawValue)\(count == 1 ? "" : "s")"
    }
    let limit = state.limits.objects
    return LuaError(
      code: "script.objects",
      message: "the script holds \(kinds.joined(separator: ", ")): the limit of \(limit) objects is reached",
      hint: "let some go, or raise limits { objects = … } in the configuration",
      facts: [ErrorFact("limit", .int(limit))])
  }
}
