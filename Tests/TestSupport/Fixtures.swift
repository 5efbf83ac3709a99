internal import Glibc

/// Files for tests, in Tests/Fixtures.
public enum Fixtures {
  /// Returns the absolute path of the fixture called `name`.
  public static func path(_ name: String) -> String { repository("Tests/Fixtures/" + name) }

  /// Returns the absolute path of a file of this repository.
  public static func repository(_ relative: String, from file: String = #filePath) -> String {
    var parts = file.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/") + "/" + relative
  }
}

/// A folder that exists for the time of a test, and is removed with its last reference.
public final class TemporaryFolder: Sendable {
  /// Absolute path, without a slash at its end.
  public let path: String

  /// Creates an empty folder under `TMPDIR` or /tmp.
  public init() throws {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/roomtone-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("cannot make a folder in \(parent)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    _ = try? Command.run("rm", ["-rf", path])
  }

  /// Returns the path of the file called `name` in the folder.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file called `name` and returns its path.
  public func write(_ bytes: [UInt8], to name: String) throws -> String {
    let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw TestFailure("cannot create \(file(name))") }
    defer { close(descriptor) }
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw TestFailure("cannot write \(file(name))") }
      written += count
    }
    return file(name)
  }
}

/// Returns the bytes of the file at `path`.
public func readBytes(_ path: String) throws -> [UInt8] { try readBytes(path, nil) }

/// Returns bytes of the file at `path`, as far as they are there; nil is all.
public func readBytes(_ path: String, _ range: Range<Int>?) throws -> [UInt8] {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw TestFailure("cannot open \(path)") }
  defer { close(descriptor) }
  if let range { lseek(descriptor, off_t(range.lowerBound), SEEK_SET) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while true {
    let wanted = min(chunk.count, (range?.count ?? .max) - bytes.count)
    let count = wanted > 0 ? read(descriptor, &chunk, wanted) : 0
    guard count > 0 else { return bytes }
    bytes += chunk[..<count]
  }
}

/// The error for a resource that a test needs and does not get.
public struct TestFailure: Error, CustomStringConvertible {
  /// The failure in one line.
  public let description: String
  /// A failure with its description.
  public init(_ description: String) { self.description = description }
}

/// Returns the names of the files in a folder, sorted; empty when it does not exist.
public func fileNames(in folder: String) -> [String] {
  guard let stream = opendir(folder) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafeBytes(of: entry.pointee.d_name) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    if !name.hasPrefix(".") { names.append(name) }
  }
  return names.sorted()
}
