import Glibc
import TestSupport

/// Another process, as a house sees it, that has a state folder for as long as this lives.
final class HouseOwner {
  let folder: String
  private let file: Int32

  var lock: String { folder + "/house.lock" }

  /// Takes `folder`, which is made.
  init(of folder: String, as name: String) throws {
    self.folder = folder
    mkdir(folder, 0o700)
    file = open(folder + "/house.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    let text = Array("4711 \(name)\n".utf8)
    // A lock of the open file, as another process's would be. 37: `F_OFD_SETLK`, which Glibc's module leaves out.
    var whole = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    guard file >= 0, fcntl(file, 37, &whole) == 0, write(file, text, text.count) == text.count else {
      throw TestFailure("cannot lock \(folder)")
    }
  }

  deinit { close(file) }
}
