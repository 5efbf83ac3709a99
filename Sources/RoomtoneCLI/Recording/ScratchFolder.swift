internal import EventLoop
internal import Glibc

/// The folder of a simulation: the same each time, so that the same script tells the same paths, and empty at the beginning;
/// what is recorded in it is gone with it.
final class ScratchFolder {
  struct Failure: CodedError {
    let code = "simulate.scratch"
    let message: String
  }

  /// From the root on.
  let path: String
  /// Held while the simulation runs.
  private let lock: FileLock?

  /// The first of the user's folders for this that no other simulation has; any other where they can't be written to.
  /// - Throws: when the folder for temporary files can't be written to either.
  init() throws(Failure) {
    for number in 1...64 {
      guard let state = UserFolders.state else { break }
      let folder = "\(state)/simulation/\(number)"
      do throws(FileLock.Failure) {
        guard let lock = try FileLock.take("\(folder).lock") else { continue }
        (path, self.lock) = (folder, lock)
      } catch { break }
      // One that was killed has left something behind.
      remove()
      return
    }
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/roomtone-simulation-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Failure(message: "can't make a folder in \(parent): \(String(cString: strerror(errno)))")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    lock = nil
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
        var info = stat()
        let isFolder = lstat("\(path)/\(name)", &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
        if isFolder { remove("\(path)/\(name)", depth: depth + 1) } else { unlink("\(path)/\(name)") }
      }
      closedir(folder)
    }
    rmdir(path)
  }
}
