internal import EventLoop
internal import Glibc

/// The temporary folder of a simulation: always the same path, so that equal scripts print equal paths, and
/// empty at the beginning; removed with its contents.
final class ScratchFolder {
  /// Absolute path.
  let path: String
  /// Lock held while the simulation runs; nil in the folder for temporary files.
  private let lock: FileLock?

  /// Acquires the first of the user's simulation folders without another simulation; a new one in the folder
  /// for temporary files where they can't be written.
  /// - Throws: `simulate.scratch` when the folder for temporary files can't be written either.
  init() throws(CommandFailure) {
    for number in 1...64 {
      guard let state = UserFolders.state else { break }
      let folder = "\(state)/simulation/\(number)"
      do throws(CommandFailure) {
        guard let lock = try FileLock.acquire("\(folder).lock") else { continue }
        (path, self.lock) = (folder, lock)
      } catch { break }
      // A simulation that was killed may have left files in the folder.
      remove()
      return
    }
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/roomtone-simulation-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw CommandFailure(.scratchFolder, "can't make a folder in \(parent): \(SystemError(errno).text)")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    lock = nil
  }

  /// Returns the path for a folder in this one; an earlier folder there is removed.
  func emptyFolder(_ name: String) -> String {
    Self.remove("\(path)/\(name)", depth: 0)
    return "\(path)/\(name)"
  }

  /// Removes the folder with its contents, as far as possible.
  func remove() { Self.remove(path, depth: 0) }

  private static func remove(_ path: String, depth: Int) {
    for name in depth < 64 ? (try? LinuxFiles.names(in: path)) ?? [] : [] {
      // The target of a link is not in the folder.
      var info = stat()
      let isFolder = lstat("\(path)/\(name)", &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
      if isFolder { remove("\(path)/\(name)", depth: depth + 1) } else { unlink("\(path)/\(name)") }
    }
    rmdir(path)
  }
}
