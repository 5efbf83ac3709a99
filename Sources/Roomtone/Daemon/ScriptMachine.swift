internal import LuaRuntime

/// The states of one script of the daemon, whose versions follow each other. Each version has a number, its generation;
/// events of a generation that is over change nothing.
struct ScriptMachine {
  /// The number of a version, unique in the machine.
  typealias Generation = Int

  /// A state.
  enum Phase {
    /// The file was not read yet.
    case new
    /// A version runs, the newest that was read.
    case running(Generation)
    /// A version runs because the newer one does not compile.
    case stale(Generation, LuaError)
    /// All that a version started is being ended.
    case ending(Generation, then: Next)
    /// No version runs: the file does not compile, or its main routine failed.
    case failed(LuaError)
    /// The script ended itself with this status.
    case ended(status: Int32)
    /// The file is gone.
    case removed
  }

  /// The state after `ending`.
  enum Next {
    /// The version to start, and the error of a newer one that does not compile.
    case run(Generation, LuaError?)
    case fail(LuaError)
    case end(status: Int32)
    case remove
  }

  /// A step for the owner.
  enum Action: Equatable {
    /// Runs the main routine of a version.
    case start(Generation)
    /// Ends all that a version started, then calls `hasEnded`.
    case end(Generation)
    /// Ends a version that was read and never started.
    case discard(Generation)
    /// The script is over, and its owner may forget it.
    case forget
  }

  private(set) var phase = Phase.new

  /// The version that runs; nil without one.
  var current: Generation? {
    switch phase {
    case .running(let generation), .stale(let generation, _): generation
    case .new, .ending, .failed, .ended, .removed: nil
    }
  }

  /// `true` while an old version is being ended.
  var isEnding: Bool { if case .ending = phase { true } else { false } }

  /// `true` if a newer version starts when the old one has ended.
  var isReloading: Bool { if case .ending(_, then: .run) = phase { true } else { false } }

  /// The name of the state for people and programs.
  var name: String {
    switch phase {
    case .new: "new"
    case .running: "running"
    case .stale: "stale"
    case .ending(_, then: .run): "reloading"
    case .ending: "ending"
    case .failed: "failed"
    case .ended: "ended"
    case .removed: "removed"
    }
  }

  /// The error that made the script stale or failed; nil in other states.
  var error: LuaError? {
    switch phase {
    case .stale(_, let error), .failed(let error), .ending(_, then: .fail(let error)): error
    case .ending(_, then: .run(_, let error)): error
    case .new, .running, .ending, .ended, .removed: nil
    }
  }

  /// A new version was read and compiled.
  mutating func loaded(_ generation: Generation) -> [Action] {
    switch phase {
    case .new, .failed, .ended:
      phase = .running(generation)
      return [.start(generation)]
    case .running(let old), .stale(let old, _):
      phase = .ending(old, then: .run(generation, nil))
      return [.end(old)]
    case .ending(let old, let next):
      if case .remove = next { return [.discard(generation)] }
      phase = .ending(old, then: .run(generation, nil))
      if case .run(let waiting, _) = next { return [.discard(waiting)] }
      return []
    case .removed: return [.discard(generation)]
    }
  }

  /// The file can't be read or does not compile: the last good version stays.
  mutating func unloadable(_ error: LuaError) {
    switch phase {
    case .new, .failed, .ended: phase = .failed(error)
    case .running(let generation), .stale(let generation, _): phase = .stale(generation, error)
    case .ending(let old, then: .run(let waiting, _)): phase = .ending(old, then: .run(waiting, error))
    case .ending(let old, then: .fail), .ending(let old, then: .end):
      phase = .ending(old, then: .fail(error))
    case .ending(_, then: .remove), .removed: break
    }
  }

  /// The main routine of a version failed.
  mutating func failed(_ generation: Generation, _ error: LuaError) -> [Action] {
    end(generation, then: .fail(error))
  }

  /// A version ended itself.
  mutating func exited(_ generation: Generation, status: Int32) -> [Action] {
    end(generation, then: .end(status: status))
  }

  private mutating func end(_ generation: Generation, then next: Next) -> [Action] {
    guard current == generation else { return [] }
    phase = .ending(generation, then: next)
    return [.end(generation)]
  }

  /// All that a version started has ended.
  mutating func hasEnded(_ generation: Generation) -> [Action] {
    guard case .ending(generation, let next) = phase else { return [] }
    switch next {
    case .run(let new, let error):
      phase = error.map { .stale(new, $0) } ?? .running(new)
      return [.start(new)]
    case .fail(let error): phase = .failed(error)
    case .end(let status): phase = .ended(status: status)
    case .remove:
      phase = .removed
      return [.forget]
    }
    return []
  }

  /// The file was removed, or the daemon ends.
  mutating func remove() -> [Action] {
    switch phase {
    case .running(let generation), .stale(let generation, _):
      phase = .ending(generation, then: .remove)
      return [.end(generation)]
    case .new, .failed, .ended:
      phase = .removed
      return [.forget]
    case .ending(let old, let next):
      phase = .ending(old, then: .remove)
      if case .run(let waiting, _) = next { return [.discard(waiting)] }
      return []
    case .removed: return []
    }
  }
}
