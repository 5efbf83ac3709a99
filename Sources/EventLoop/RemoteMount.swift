internal import Glibc

/// A mounted file system of another machine or program: if that is gone, calls for its files may never
/// return.
public struct RemoteMount: Sendable, Equatable {
  /// The path of the folder that it is mounted on.
  public let folder: String
  /// The type of the file system: `nfs4`.
  public let type: String
  /// The location of the file system, as it was mounted: `nas:/music`.
  public let source: String

  /// Returns the first such mount on the way to the file at a path, links included; nil for a local file.
  /// Makes no call that such a mount would have to answer. Any thread.
  public static func of(_ path: String) -> RemoteMount? { MountTable.current().remoteMount(of: path) }

  /// Returns the mounts that hold files of these paths, each once, with the first of its paths. Any thread.
  public static func holding(_ paths: [String]) -> [(mount: RemoteMount, path: String)] {
    let table = MountTable.current()
    var found: [(mount: RemoteMount, path: String)] = []
    for path in paths {
      guard let mount = table.remoteMount(of: path) else { continue }
      if !found.contains(where: { $0.mount.folder == mount.folder }) { found.append((mount, path)) }
    }
    return found
  }
}

/// The mounts of the process. Source: proc(5), `/proc/pid/mountinfo`.
struct MountTable {
  private static let remoteTypes: Set<String> = [
    "9p", "afs", "autofs", "ceph", "cifs", "coda", "fuse", "lustre", "nfs", "nfs4", "smb3", "smbfs",
    "virtiofs",
  ]
  private static let linkLimit = 40

  private var mounts: [(folder: String, remote: RemoteMount?)] = []

  /// Returns the mounts as they are now; none without procfs.
  static func current() -> MountTable { MountTable(read("/proc/self/mountinfo")) }

  /// Reads the lines of `mountinfo`.
  init(_ text: String) {
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard let separator = fields.firstIndex(of: "-"), separator > 4, fields.count > separator + 2 else {
        continue
      }
      let folder = Self.unescaped(fields[4])
      let type = Self.unescaped(fields[separator + 1])
      // The types of FUSE have suffixes, as fuse.sshfs. A machine whose root does not answer can't be helped.
      let isRemote = folder != "/" && (Self.remoteTypes.contains(type) || type.hasPrefix("fuse."))
      let source = Self.unescaped(fields[separator + 2])
      mounts.append((folder, isRemote ? RemoteMount(folder: folder, type: type, source: source) : nil))
    }
  }

  /// Returns the first remote mount on the way to the file at a path, links followed up to there.
  func remoteMount(of path: String, readLink: (String) -> String? = Self.target) -> RemoteMount? {
    guard !path.isEmpty, mounts.contains(where: { $0.remote != nil }) else { return nil }
    var whole = path
    if !path.hasPrefix("/") {
      guard let folder = getcwd(nil, 0) else { return nil }
      defer { free(folder) }
      whole = String(cString: folder) + "/" + path
    }
    var (rest, resolved, links) = ([Substring](whole.split(separator: "/").reversed()), [Substring](), 0)
    while let part = rest.popLast() {
      if part == "." { continue }
      if part == ".." {
        _ = resolved.popLast()
        continue
      }
      let place = "/" + (resolved + [part]).joined(separator: "/")
      if let mount = mount(holding: place) { return mount }
      guard let target = readLink(place), links < Self.linkLimit else {
        resolved.append(part)
        continue
      }
      links += 1
      if target.hasPrefix("/") { resolved = [] }
      rest += target.split(separator: "/").reversed()
    }
    return nil
  }

  /// Returns the mount with the longest folder that holds `place`, the last of several on one folder, if it
  /// is remote.
  private func mount(holding place: String) -> RemoteMount? {
    var best: (folder: String, remote: RemoteMount?)?
    for mount in mounts where mount.folder.utf8.count >= best?.folder.utf8.count ?? 0 {
      let prefix = mount.folder == "/" ? "/" : mount.folder + "/"
      if place == mount.folder || place.hasPrefix(prefix) { best = mount }
    }
    return best?.remote
  }

  private static func target(of link: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(link, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Returns the field with `\040` and the like replaced by the bytes that they encode.
  private static func unescaped(_ field: Substring) -> String {
    var (bytes, rest) = ([UInt8](), field.utf8[...])
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), let octal = UInt8(String(rest.prefix(3)) ?? "", radix: 8) {
        bytes.append(octal)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the text of a file of procfs, whose length is not known in advance; empty if it can't be read.
  private static func read(_ path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var (text, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 16_384))
    while true {
      let count = Glibc.read(file, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text += chunk[..<count]
    }
  }
}
