public import EventLoop

/// The reason for a change of the house, with its own cause as its parent: a line of a script, by a job, by a
/// person.
///
/// Immutable. A chain has at most `deepest` causes, so that events that cause each other for ever don't fill
/// memory.
public final class Cause: Sendable, Equatable {
  /// The kinds of causes.
  public enum Kind: String, Sendable, CaseIterable {
    /// A line of a script: `name` is the function that it calls.
    case script
    /// A run of the job `name`, whose schedule is `detail`.
    case job
    /// The trigger `name`, which came through the door `detail`.
    case trigger
    /// The event `name` of `detail`, for which a script listens; without a line, an event
    /// that happened by itself.
    case event
    /// The interruption `name`.
    case interruption
    /// Another client of the speakers, or Home Assistant: `name`.
    case controller
    /// A person at the prompt, the shell or the page: `name`.
    case person
    /// The start of a script.
    case start
    /// A speaker, by itself.
    case driver
    /// The limit of a speaker; `name` says which, in words.
    case limit
  }

  /// The most causes of a chain.
  public static let deepest = 12

  /// The kind.
  public let kind: Kind
  /// The name, by the kind; empty without one.
  public let name: String
  /// Further words, by the kind; nil without any.
  public let detail: String?
  /// The file of the script without folders; nil without a script.
  public let script: String?
  /// The line in the file; 0 without a line.
  public let line: Int
  /// The moment.
  public let at: WallTime
  /// The routine of the command, as `job "bedtime"`, also in its tasks and after it has waited; nil without
  /// one.
  let routine: String?
  /// The cause of this cause; nil for the first of the chain.
  public let parent: Cause?
  /// `true` if causes between this one and its parent were left out.
  public let isShortened: Bool
  private let depth: Int
  /// The bytes of the chain, about.
  let size: Int

  /// A cause; the chain of a parent that has `deepest` causes is shortened to its first one.
  public init(
    _ kind: Kind, _ name: String = "", detail: String? = nil, script: String? = nil, line: Int = 0,
    at: WallTime, parent: Cause? = nil, routine: String? = nil
  ) {
    self.routine = routine
    (self.kind, self.name, self.detail, self.script, self.line, self.at) =
      (kind, name.cut(to: longestName), detail?.excerpt, script?.cut(to: longestName), line, at)
    isShortened = (parent?.depth ?? 0) >= Self.deepest
    self.parent = isShortened ? parent?.first : parent
    depth = isShortened ? 2 : (parent?.depth ?? 0) + 1
    size = Self.size(self.name, self.detail, self.script, self.parent)
  }

  private static func size(_ name: String, _ detail: String?, _ script: String?, _ parent: Cause?) -> Int {
    128 + name.utf8.count + (detail?.utf8.count ?? 0) + (script?.utf8.count ?? 0) + (parent?.size ?? 0)
  }

  /// A cause that was kept, with all its values.
  init(
    _ kind: Kind, _ name: String, detail: String?, script: String?, line: Int, at: WallTime, parent: Cause?,
    isShortened: Bool
  ) {
    (self.kind, self.name, self.detail, self.script, self.line, self.at) =
      (kind, name, detail, script, line, at)
    (self.parent, self.isShortened, routine) = (parent, isShortened, nil)
    depth = (parent?.depth ?? 0) + 1
    size = Self.size(name, detail, script, parent)
  }

  /// The cause of the present commands, also in the tasks that they start; nil without one. Routines of
  /// scripts have their own, see `Journal.current`.
  @TaskLocal public static var current: Cause?

  /// `true` for the same cause.
  public static func == (one: Cause, other: Cause) -> Bool { one === other }

  /// The name of the job whose routine gives the command; nil for another routine.
  public var job: String? { routine.map(Self.job(of:)) ?? (kind == .job ? name : nil) }

  /// Returns the name of the job that a routine is, by the routine's name; nil for any other.
  public static func job(of routine: String) -> String? {
    guard routine.hasPrefix("job \""), routine.hasSuffix("\"") else { return nil }
    return String(routine.dropFirst(5).dropLast())
  }

  /// The first cause of the chain.
  public var first: Cause {
    var cause = self
    while let parent = cause.parent { cause = parent }
    return cause
  }

  /// The chain, from this cause to the first.
  public var chain: [Cause] {
    var chain = [self]
    while let parent = chain[chain.count - 1].parent { chain.append(parent) }
    return chain
  }

  /// Returns `true` if both are the same call for the same reason: they differ only in their moments.
  func repeats(_ other: Cause) -> Bool {
    if self === other { return true }
    guard line == other.line, kind == other.kind, name == other.name, script == other.script else {
      return false
    }
    if parent === other.parent { return true }
    guard let parent, let before = other.parent else { return false }
    return parent.repeats(before)
  }
}
