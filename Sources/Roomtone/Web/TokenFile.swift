internal import Crypto
public import EventLoop
internal import Glibc

/// A failure of the page's server.
public typealias PageError = Failure<PageErrorKind>

/// The kinds of failure of the page's server; the raw value is the stable code.
public enum PageErrorKind: String, FailureKind {
  /// The configuration has no page.
  case none = "page.none"
  /// The configuration has no such hook.
  case unknownHook = "page.unknown_hook"
  /// A token can't be read or made.
  case token = "page.token"
  /// The certificate or its key can't be used.
  case certificate = "page.certificate"
  /// The file system with the tokens or the certificate does not answer.
  case files = "page.files"
}

/// Files with tokens, which their owner alone may read.
public enum TokenFile {
  private static let longest = 512, shortest = 16

  /// Returns the token in a file.
  /// - Throws: `page.token`: the file is missing, others can read it, or it holds no token.
  public static func read(_ path: String) throws(PageError) -> String {
    let bytes: [UInt8]
    do throws(WholeFile.ReadError) { bytes = try WholeFile.read(path, atMost: longest, isSecret: true) } catch
    {
      let making = error.errno == ENOENT ? "(umask 077; openssl rand -hex 32 > \(path)) makes one" : nil
      throw PageError(
        .token, "can't read the token in \(path.onOneLine): \(error.reason)", hint: error.hint ?? making)
    }
    let text = bytes.reversed().drop { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.reversed()
    // As in the header Authorization: RFC 6750 §2.1, without blanks.
    guard text.count >= shortest, text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw PageError(
        .token, "\(path.onOneLine) holds no token: \(shortest) or more letters and digits expected",
        hint: "(umask 077; openssl rand -hex 32 > \(path)) makes one")
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns a mark of the file, which differs after each change; empty without a file.
  public static func mark(_ path: String) -> String {
    LinuxFiles.changeTime(of: path).map { "\($0.nanoseconds)" } ?? ""
  }

  /// Writes the names of new files in the folder of `path` to its disk.
  static func syncFolder(of path: String) {
    let folder = open(LinuxFiles.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
  }

  /// Makes a file with a new token, and its folder, unless there is one; another process may do so at the same time.
  /// - Returns: `true` for a new file, whose name `syncFolder(of:)` writes to the disk.
  /// - Throws: `page.token` if it can't be made.
  @discardableResult
  static func make(_ path: String) throws(PageError) -> Bool {
    guard access(path, F_OK) != 0 else { return false }
    func failure(_ reason: String) -> PageError {
      PageError(.token, "can't make the token file \(path.onOneLine): \(reason)")
    }
    do throws(SystemError) { try LinuxFiles.makeFolders(LinuxFiles.folder(of: path), mode: 0o700) } catch {
      throw failure(error.text)
    }
    guard let random = Digest.randomBytes(32) else { throw failure("the machine has no random numbers") }
    let digits = random.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\n"
    // Under another name at first: a process that is killed here leaves no half a token.
    let new = "\(path).\(getpid())"
    unlink(new)
    let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure(SystemError(errno).text) }
    let isWritten = write(file, digits, digits.utf8.count) == digits.utf8.count && fsync(file) == 0
    let reason = SystemError(errno).text
    close(file)
    var number = isWritten ? LinuxFiles.rename(new, toNew: path) : 0
    // Some file systems can't refuse a name that is in use.
    if number == EINVAL { number = rename(new, path) == 0 ? 0 : errno }
    guard isWritten, number == 0 else {
      unlink(new)
      // Another process was faster: its token counts.
      if isWritten, number == EEXIST { return false }
      throw failure(isWritten ? SystemError(number).text : reason)
    }
    return true
  }
}

/// A token as it is compared: by its hash, in a time that does not depend on where they differ.
struct TokenHash: Sendable, Equatable {
  private let hash: [UInt8]

  init(_ token: String) {
    let digest = Digest()
    digest.update(Array(token.utf8)[...])
    hash = digest.finish()
  }

  static func == (one: TokenHash, other: TokenHash) -> Bool { Digest.isEqual(one.hash, other.hash) }
}
