import Glibc
import TestSupport

/// Another process, as far as a house can tell, that has a state folder for as long as this lives.
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
    guard file >= 0, flock(file, LOCK_EX | LOCK_NB) == 0, write(file, text, text.count) == text.count else {
      throw TestFailure("cannot lock \(folder)")
    }
  }

  deinit { close(file) }
}
