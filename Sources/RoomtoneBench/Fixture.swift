internal import Glibc

/// Sound for the benchmarks.
enum Fixture {
  /// Returns the path of a file of the source tree in which this program was built.
  /// - Throws: `StartBench.Failed` when the file does not exist.
  static func path(_ relative: String) throws -> String {
    var folder = StartBench.executableFolder()
    for _ in 0..<6 {
      let path = folder + "/" + relative
      if access(path, R_OK) == 0 { return path }
      guard let slash = folder.lastIndex(of: "/") else { break }
      folder = String(folder[..<slash])
    }
    throw StartBench.Failed(message: "\(relative) is not above \(StartBench.executableFolder())")
  }

  /// Returns the bytes of a file of the source tree.
  static func bytes(_ relative: String) throws -> [UInt8] { try bytes(at: try path(relative)) }

  /// Returns the bytes of the file at `path`.
  static func bytes(at path: String) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw StartBench.Failed(message: "can't open \(path)") }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(file, &chunk, chunk.count)
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
    }
  }

  /// Runs `body` with the path of a temporary file that holds `bytes` `times` times.
  static func repeated<Result>(
    _ bytes: [UInt8], times: Int, _ body: (_ path: String) throws -> Result
  ) throws -> Result {
    var template = Array("/tmp/roomtone-bench-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard file >= 0 else { throw StartBench.Failed(message: "can't make a file in /tmp") }
    defer {
      close(file)
      unlink(path)
    }
    for _ in 0..<times {
      guard write(file, bytes, bytes.count) == bytes.count else {
        throw StartBench.Failed(message: "can't write \(path)")
      }
    }
    return try body(path)
  }
}
