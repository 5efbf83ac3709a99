internal import AudioCore
internal import Codecs
internal import EventLoop
internal import Glibc

/// The sound files of a folder and of its subfolders.
public enum AudioFolder {
  /// The limit of files.
  public static let fileLimit = 10_000
  /// The limit of nested folders.
  static let depthLimit = 32

  /// Returns the paths of a folder's sound files, known by their extensions, in natural order of their names ("2" before
  /// "10"); those of subfolders follow. Hidden ones are left out. A folder that is reached twice, by links, is read once;
  /// a subfolder that can't be read is in the result, so that its failure is reported in its turn.
  /// - Throws: `AudioError` for a folder that can't be read, is nested too deep, or has too many files.
  public static func files(in folder: String) throws -> [String] {
    var reader = FolderReader(top: folder)
    try reader.read(folder, depth: 0)
    return reader.files
  }
}

private struct FolderReader {
  private struct Identity: Hashable {
    let device: UInt
    let inode: UInt
  }

  let top: String
  var files: [String] = []
  private var seen: Set<Identity> = []

  init(top: String) { self.top = top }

  mutating func read(_ folder: String, depth: Int) throws {
    var status = stat()
    if stat(folder, &status) == 0,
      !seen.insert(Identity(device: UInt(status.st_dev), inode: UInt(status.st_ino))).inserted
    {
      return
    }
    guard depth < AudioFolder.depthLimit else {
      throw refusal(
        "the folder \(top) has more than \(AudioFolder.depthLimit) folders in each other: \(folder)")
    }
    let names: [String]
    do throws(SystemError) { names = try LinuxFiles.names(in: folder) } catch {
      guard depth > 0 else { throw AudioError.notFound(folder, cause: error.text.lowercased()) }
      return files.append(folder)
    }
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    var folders: [String] = []
    for name in names.filter({ !$0.hasPrefix(".") }).sorted(by: naturallyPrecedes) {
      if stat(prefix + name, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
        folders.append(prefix + name)
      } else if let dot = name.lastIndex(of: "."),
        AudioFile.extensions.contains(name[name.index(after: dot)...].lowercased())
      {
        files.append(prefix + name)
      }
    }
    guard files.count <= AudioFolder.fileLimit else {
      throw refusal("the folder \(top) has more than \(AudioFolder.fileLimit) sound files")
    }
    for folder in folders { try read(folder, depth: depth + 1) }
  }

  private func refusal(_ message: String) -> AudioError {
    AudioError(.unsupported, message, hint: "name a folder inside it", facts: [.init("path", .string(top))])
  }
}

/// Returns `true` if a name precedes another one as people order them: numbers by their values, letters in any case.
func naturallyPrecedes(_ one: String, _ other: String) -> Bool {
  var (a, b) = (Array(one.lowercased().unicodeScalars)[...], Array(other.lowercased().unicodeScalars)[...])
  func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
  while let first = a.first, let second = b.first {
    if isDigit(first), isDigit(second) {
      // Without leading zeros the longer number is the larger one.
      let x = a.prefix(while: isDigit).drop { $0 == "0" }
      let y = b.prefix(while: isDigit).drop { $0 == "0" }
      if x.count != y.count { return x.count < y.count }
      if let pair = zip(x, y).first(where: { $0 != $1 }) { return pair.0 < pair.1 }
      (a, b) = (a.drop(while: isDigit), b.drop(while: isDigit))
    } else {
      if first != second { return first < second }
      (a, b) = (a.dropFirst(), b.dropFirst())
    }
  }
  if a.isEmpty != b.isEmpty { return a.isEmpty }
  return one < other
}
