public import EventLoop
internal import Glibc

/// A failure of a recording. Matched by `kind` in Swift and by `code` in scripts.
public typealias RecordError = Failure<RecordErrorKind>

/// The kinds of failure of a recording; the raw value is the stable code, as scripts see it.
public enum RecordErrorKind: String, FailureKind {
  /// The disk, or the part of it that this user may fill, has no room.
  case diskFull = "record.disk_full"
  /// The system refuses to create, write, rename or read a file.
  case write = "record.write"
  /// The file of a recording does not exist, or can't be read.
  case read = "record.read"
  /// The file exists, and nothing can be appended to it.
  case exists = "record.exists"
}

extension RecordError {
  /// Creates the failure of a system call from its error number: `can't write /radio/a.mp3: no space left on
  /// device`.
  /// - Parameters:
  ///   - what: the operation, as in "write".
  ///   - path: the file or folder.
  public init(_ what: String, _ path: String, errno number: Int32) {
    let words = SystemError(number).text
    let cause = words.prefix(1).lowercased() + words.dropFirst()
    let isFull = number == ENOSPC || number == EDQUOT
    self.init(
      isFull ? .diskFull : .write, "can't \(what) \(path.onOneLine): \(cause)", hint: Self.hint(number),
      facts: [.init("path", .string(path))])
  }

  /// Returns the failure of a disk with less than the required free space.
  public static func tooLittleRoom(at path: String, free: Int, wanted: Int) -> RecordError {
    RecordError(
      .diskFull,
      "\(free / 1_000_000) MB are free at \(path.onOneLine), less than the \(wanted / 1_000_000) MB to keep",
      hint: hint(ENOSPC), facts: [.init("path", .string(path)), .init("free", .int(free))])
  }

  /// Returns the failure of a queue that was not drained.
  static func tooSlow(_ path: String) -> RecordError {
    RecordError(
      .write, "the disk of \(path.onOneLine) accepts no more data", hint: "check that it is mounted",
      facts: [.init("path", .string(path))])
  }

  /// Returns the failure of a station that changes its format too often: each change begins a file.
  static func formatUnstable(_ template: String) -> RecordError {
    RecordError(
      .write, "can't continue \(template.onOneLine): the station changes its format all the time",
      hint: "record another stream of it", facts: [.init("path", .string(template))])
  }

  private static func hint(_ number: Int32) -> String? {
    switch number {
    case ENOSPC, EDQUOT: "make room, or record to another disk"
    case EACCES, EPERM: "record to a folder that this user may write to"
    case EROFS: "record to a disk that can be written to"
    case ENAMETOOLONG: "give a shorter name"
    case EFBIG: "the file system holds no larger file; split the recording"
    default: nil
    }
  }
}
