internal import EventLoop
internal import Glibc

/// The changes of a folder of scripts while it settled.
struct FolderChanges: Equatable {
  /// The names of scripts whose files were written, made or removed.
  var scripts: Set<String> = []
  /// The paths of library files that were written, made or removed.
  var libraries: Set<String> = []
  /// `true` if anything may have changed.
  var isAll = false

  /// Adds the change of a file in `folder`, which is `root` or a library folder below it.
  mutating func add(_ name: String, in folder: String, root: String) {
    if folder == root, let script = Self.scriptName(name) {
      scripts.insert(script)
    } else if name.hasSuffix(".lua"), folder != root || name.hasPrefix("_") {
      libraries.insert("\(folder)/\(name)")
    }
  }

  /// Returns the name of the script in a file directly in the folder; nil for a library, a hidden file, and a
  /// file that is not Lua.
  static func scriptName(_ file: String) -> String? {
    guard file.hasSuffix(".lua"), !file.hasPrefix("_"), !file.hasPrefix("."), file.utf8.count > 4 else {
      return nil
    }
    return String(file.dropLast(4))
  }
}

/// The folder of scripts of a daemon: lists its scripts, and reports changes once they have settled. Confined to the loop.
///
/// Each `*.lua` directly in it is a script; files and folders whose names begin with `_` are libraries.
final class ScriptFolder {
  /// The time without a change after which changes count as settled, and the longest wait for that.
  static let settling = Duration.milliseconds(200), longestSettling = Duration.seconds(2)
  /// The deepest folder of libraries.
  private static let deepest = 8

  /// The absolute path, without a slash at its end.
  let path: String
  private let loop: EventLoop
  private let onChange: (FolderChanges) -> Void
  private var watch: FolderWatch?
  private var changes = FolderChanges()
  private var timer: LoopTimer?
  private var firstChange: Instant?
  /// The files that links in the folder lead to: their folders, watched, and the link by the name of the file in each.
  private var targets: [String: [String: String]] = [:]

  /// A folder that is watched from the first `scripts` on.
  /// - Throws: `daemon.folder` when folders can't be watched.
  init(
    _ path: String, loop: EventLoop, onChange: @escaping (FolderChanges) -> Void
  ) throws(DaemonError) {
    (self.path, self.loop, self.onChange) = (path, loop, onChange)
    do throws(LoopError) {
      watch = try FolderWatch(on: loop) { [unowned self] in receive($0) }
    } catch { throw DaemonError(.folder, error.message) }
  }

  /// Ends the watch.
  func close() {
    timer?.cancel()
    watch?.close()
    watch = nil
  }

  /// Returns the names of the scripts, sorted, and watches the folder and its libraries. A remote mount that holds the
  /// folder has answered before; no call is made for a file on another one.
  /// - Throws: `daemon.folder` when the folder can't be read.
  func scripts() throws(DaemonError) -> [String] {
    do throws(SystemError) {
      // The parent is watched too, so that the folder is noticed when it comes back.
      if let parent { try? watch?.add(parent) }
      try watch?.add(path)
      let names = try LinuxFiles.names(in: path)
      watchTargets(of: names.filter { $0.hasSuffix(".lua") && !$0.hasPrefix(".") })
      for name in names where name.hasPrefix("_") { addLibraries("\(path)/\(name)", depth: 1) }
      return names.compactMap(FolderChanges.scriptName).filter { isFile(file(of: $0)) }.sorted()
    } catch {
      throw unreadable(error.text, hint: "make it, or name another one: roomtone serve DIR")
    }
  }

  /// Returns the error of a folder on a remote mount that has not answered.
  var silence: DaemonError {
    let (cause, hint) = FileDeadline.silence(of: path)
    return unreadable(cause, hint: hint)
  }

  private func unreadable(_ cause: String, hint: String?) -> DaemonError {
    DaemonError(.folder, "can't read the folder of scripts \(path.onOneLine): \(cause)", hint: hint)
  }

  /// Returns `true` if a call for the file at a path returns: for a remote mount that is known from the folder itself
  /// alone.
  private func isReachable(_ file: String) -> Bool {
    guard let mount = RemoteMount.of(file) else { return true }
    return mount == RemoteMount.of(path)
  }

  /// Returns the path of the script called `name`.
  func file(of name: String) -> String { "\(path)/\(name).lua" }

  private var parent: String? { path.contains("/") && path != "/" ? LinuxFiles.folder(of: path) : nil }

  /// Watches the folders of the files that links lead to, in which an edit is seen.
  private func watchTargets(of names: [String]) {
    var found: [String: [String: String]] = [:]
    for name in names {
      guard isReachable("\(path)/\(name)"), let target = Self.target(of: "\(path)/\(name)"),
        let slash = target.lastIndex(of: "/")
      else {
        continue
      }
      found[LinuxFiles.folder(of: target), default: [:]][String(target[target.index(after: slash)...])] = name
    }
    for folder in targets.keys where found[folder] == nil && !isOwn(folder) { watch?.remove(folder) }
    targets = found
    for folder in found.keys { try? watch?.add(folder) }
  }

  private func isOwn(_ folder: String) -> Bool {
    folder == path || folder == parent || folder.hasPrefix(path + "/")
  }

  /// Returns the path of the file that a link leads to, without links in it; nil for a file that is no link.
  private static func target(of path: String) -> String? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK,
      let target = realpath(path, nil)
    else { return nil }
    defer { free(target) }
    return String(cString: target)
  }

  private func addLibraries(_ folder: String, depth: Int) {
    guard depth <= Self.deepest, isFolder(folder), (try? watch?.add(folder)) != nil else { return }
    for name in (try? LinuxFiles.names(in: folder)) ?? [] where !name.hasPrefix(".") {
      if name.hasSuffix(".lua") { changes.libraries.insert("\(folder)/\(name)") }
      addLibraries("\(folder)/\(name)", depth: depth + 1)
    }
  }

  private func receive(_ change: FolderWatch.Change) {
    switch change {
    case .overflow: changes.isAll = true
    case .folderGone(let folder):
      guard folder == path || folder.hasPrefix(path + "/") else { return }
      if folder == path { changes.isAll = true }
    case .entry(let folder, let name):
      if let link = targets[folder]?[name] { changes.add(link, in: path, root: path) }
      if folder == path || folder.hasPrefix(path + "/") {
        changes.add(name, in: folder, root: path)
        let isLibrary = folder != path || name.hasPrefix("_")
        if isLibrary, isFolder("\(folder)/\(name)") { addLibraries("\(folder)/\(name)", depth: 1) }
      } else if "\(folder == "/" ? "" : folder)/\(name)" == path {
        // The folder itself was made or removed.
        watch?.remove(path)
        changes.isAll = true
      }
    }
    if changes != FolderChanges() { settle() }
  }

  private func settle() {
    timer?.cancel()
    let first = firstChange ?? loop.now
    firstChange = first
    let rest = Self.longestSettling - first.duration(to: loop.now)
    timer = loop.after(min(Self.settling, rest), keepsAlive: false) { [unowned self] in
      let settled = changes
      (changes, timer, firstChange) = (FolderChanges(), nil, nil)
      onChange(settled)
    }
  }

  /// Returns `true` for a file, and for a link to another mount, where the host of the script finds out.
  private func isFile(_ path: String) -> Bool { !isReachable(path) || Self.kind(of: path) == S_IFREG }
  private func isFolder(_ path: String) -> Bool { isReachable(path) && Self.kind(of: path) == S_IFDIR }

  private static func kind(of path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
  }
}
