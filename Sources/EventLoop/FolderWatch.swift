internal import CLinux
internal import Glibc

/// Reports changes of the files in folders. Subfolders of a watched folder are watched only if they are added
/// themselves. Confined to the thread of its loop. Source: inotify(7).
public final class FolderWatch {
  /// A change in a watched folder.
  public enum Change: Sendable, Equatable {
    /// A file was written and closed, moved in or out, linked or removed; or a folder was created or removed.
    case entry(folder: String, name: String)
    /// The folder was removed or moved away, and is no longer watched.
    case folderGone(String)
    /// More changed than the kernel reports one by one.
    case overflow
  }

  private let fd: Int32
  private var watch: FDWatch?
  private var folders: [Int32: String] = [:]
  private let onChange: (Change) -> Void

  /// Creates a watch without folders.
  /// - Parameter onChange: called on the loop with each change, in their order.
  /// - Throws: `loop.descriptor` if the system has no descriptor left.
  public init(on loop: EventLoop, onChange: @escaping (Change) -> Void) throws(LoopError) {
    fd = folders_open()
    self.onChange = onChange
    guard fd >= 0 else { throw LoopError(.descriptor, "can't watch folders", errno: -fd) }
    do throws(LoopError) {
      watch = try loop.watch(fd, for: .readable, keepsAlive: false) { [unowned self] _ in receive() }
    } catch {
      Glibc.close(fd)
      throw error
    }
  }

  deinit { close() }

  /// Ends the watch. A second call does nothing.
  public func close() {
    guard let watch else { return }
    self.watch = nil
    watch.cancel()
    Glibc.close(fd)
  }

  /// Watches another folder; one that is already watched is not watched twice.
  /// - Throws: the reason why it can't be watched, for example that it does not exist.
  public func add(_ folder: String) throws(SystemError) {
    guard watch != nil, !folders.values.contains(folder) else { return }
    let number = folders_add(fd, folder)
    guard number >= 0 else { throw SystemError(-number) }
    // The kernel has one watch for a folder, whatever its path.
    if folders[number] == nil { folders[number] = folder }
  }

  /// Ends the watch of a folder.
  public func remove(_ folder: String) {
    guard watch != nil, let number = folders.first(where: { $0.value == folder })?.key else { return }
    folders[number] = nil
    folders_remove(fd, number)
  }

  /// The watched folders, sorted.
  public var watched: [String] { folders.values.sorted() }

  private func receive() {
    // The kernel's events are aligned as their first field, a 32-bit number.
    let size = 16_384
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)  // freed below
    defer { buffer.deallocate() }
    let count = read(fd, buffer, size)
    var (offset, changes): (Int, [Change]) = (0, [])
    while offset < count {
      var (number, length): (Int32, Int32) = (0, 0)
      var name: UnsafePointer<CChar>?
      let kind = folder_event(buffer + offset, &number, &name, &length)
      offset += Int(length)
      if let change = change(Int(kind), number, name.map { String(cString: $0) } ?? "") {
        changes.append(change)
      }
    }
    for change in changes where watch != nil { onChange(change) }
  }

  private func change(_ kind: Int, _ number: Int32, _ name: String) -> Change? {
    if kind == FOLDER_OVERFLOW { return .overflow }
    guard let folder = folders[number] else { return nil }
    if kind == FOLDER_GONE {
      // A folder that was moved away is still watched by the kernel.
      folders[number] = nil
      folders_remove(fd, number)
      return .folderGone(folder)
    }
    // A new file is empty: its writer closes it later.
    if kind == FOLDER_MADE, Self.isNewFile("\(folder)/\(name)") { return nil }
    return .entry(folder: folder, name: name)
  }

  /// `true` for a regular file with one name, and not for links and folders.
  private static func isNewFile(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
  }
}
