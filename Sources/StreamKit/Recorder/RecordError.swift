public import EventLoop
internal import Glibc

/// What fails with a recording. Matched by `kind` in Swift and by `code` in scripts.
public struct RecordError: CodedError, Equatable {
  /// The stable names.
  public enum Kind: String, Sendable {
    /// The disk, or the part of it that this user may fill, has no room.
    case diskFull = "record.disk_full"
    /// The system refuses to make, write, rename or read a file.
    case write = "record.write"
    /// There is a file with that name, and it can't be gone on with.
    case exists = "record.exists"
  }

  /// Which failure.
  public let kind: Kind
  /// What failed, one line.
  public let message: String
  /// What to do, one line.
  public let hint: String?
  /// The facts, in a fixed order.
  public let facts: [ErrorFact]

  /// A failure of `kind`.
  public init(_ kind: Kind, _ message: String, hint: String? = nil, facts: [ErrorFact] = []) {
    self.kind = kind
    self.message = message
    self.hint = hint
    self.facts = facts
  }

  /// What the system refused, told by its error number: `can't write /radio/a.mp3: no space left on device`.
  /// - Parameters:
  ///   - what: what was to be done, as in "write".
  ///   - path: to which file or folder.
  public init(_ what: String, _ path: String, errno number: Int32) {
    let words = String(cString: strerror(number))
    let cause = words.prefix(1).lowercased() + words.dropFirst()
    let isFull = number == ENOSPC || number == EDQUOT
    self.init(
      isFull ? .diskFull : .write, "can't \(what) \(path.onOneLine): \(cause)", hint: Self.hint(number),
      facts: [.init("path", .string(path))])
  }

  /// The disk has less room than is to be left free.
  public static func tooLittleRoom(at path: String, free: Int, wanted: Int) -> RecordError {
    RecordError(
      .diskFull,
      "\(free / 1_000_000) MB are free at \(path.onOneLine), less than the \(wanted / 1_000_000) MB to keep",
      hint: hint(ENOSPC), facts: [.init("path", .string(path)), .init("free", .int(free))])
  }

  /// Nobody took what came.
  static func tooSlow(_ path: String) -> RecordError {
    RecordError(
      .write, "the disk of \(path.onOneLine) takes nothing any more", hint: "look whether it is still there",
      facts: [.init("path", .string(path))])
  }

  /// A station that never stays with a format: each change takes a new file.
  static func restless(_ template: String) -> RecordError {
    RecordError(
      .write, "can't go on with \(template.onOneLine): the station changes its format all the time",
      hint: "record another stream of it", facts: [.init("path", .string(template))])
  }

  /// The stable name, as scripts see it.
  public var code: String { kind.rawValue }

  private static func hint(_ number: Int32) -> String? {
    switch number {
    case ENOSPC, EDQUOT: "make room, or record to another disk"
    case EACCES, EPERM: "record to a folder that this user may write to"
    case EROFS: "record to a disk that can be written to"
    case ENAMETOOLONG: "give a shorter name"
    case EFBIG: "the file system holds no longer file; split the recording"
    default: nil
    }
  }
}
