internal import EventLoop
internal import Glibc

/// A folder of a simulation: what is recorded in it is gone with it.
struct ScratchFolder {
  struct Failure: CodedError {
    let code = "simulate.scratch"
    let message: String
  }

  let path: String

  /// - Throws: when the folder for temporary files can't be written to.
  init() throws(Failure) {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/roomtone-simulation-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Failure(message: "can't make a folder in \(parent): \(String(cString: strerror(errno)))")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Removes it and all that is in it; what can't be removed stays.
  func remove() { Self.remove(path, depth: 0) }

  private static func remove(_ path: String, depth: Int) {
    if let folder = opendir(path), depth < 64 {
      while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard name != ".", name != ".." else { continue }
        // What a link leads to is not in it.
        let isFolder = entry.pointee.d_type == UInt8(DT_DIR)
        if isFolder { remove("\(path)/\(name)", depth: depth + 1) } else { unlink("\(path)/\(name)") }
      }
      closedir(folder)
    }
    rmdir(path)
  }
}
