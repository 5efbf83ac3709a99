internal import EventLoop

/// The space that the disk of a file keeps free.
struct DiskRoom: Sendable {
  private let folder: String
  private let minimumFree: Int

  /// The room for the file at `path`.
  /// - Parameter minimumFree: the bytes that stay free; 0 for no such limit.
  init(at path: String, minimumFree: Int) {
    folder = LinuxFiles.folder(of: path)
    self.minimumFree = minimumFree
  }

  /// Returns the reason why a number of bytes may not be added; nil if they may, or if there is no folder yet.
  func lack(of bytes: Int = 0) -> String? {
    guard minimumFree > 0, let free = try? LinuxFiles.freeBytes(at: folder), free < minimumFree + bytes else {
      return nil
    }
    return "\(ByteSize.describe(free)) are free at \(folder.onOneLine), and recordings { min_free } keeps "
      + "\(ByteSize.describe(minimumFree)) free"
  }
}
