internal import AudioCore
public import EventLoop
internal import Glibc
internal import Reception
public import SpeakerKit
internal import StreamCore

/// The files that folders, playlists and paths of files stand for.
public enum MusicFiles {
  /// Returns `true` for a folder, and for a playlist by its extension: both stand for other files.
  public static func isCollection(_ path: String) -> Bool {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return true }
    return Playlist.named(extensionOf: path) != nil
  }

  /// Checks that a text for a path, which may have been meant as a URL, has no password that an error would show.
  /// - Throws: `audio.not_found` without user and password, if there is no file at the path.
  public static func refuseCredentials(_ given: String, at path: String) throws {
    let shown = StreamAddress.redacted(given)
    guard shown != given, given.contains(":"), RemoteMount.of(path) == nil, access(path, F_OK) != 0 else {
      return
    }
    throw AudioError.notFound(
      shown, cause: "no such file or directory",
      hint: "the address of a station begins with http:// or https://")
  }

  /// Returns when the remote mounts that hold the paths have answered: before, no other call for them is
  /// allowed on a loop.
  /// - Throws: `audio.unreadable` when a mount has not.
  public static func awaitAnswer(of paths: [String], on loop: EventLoop) async throws {
    guard !loop.isVirtual else { return }
    for (_, path) in RemoteMount.holding(paths) {
      let answer: Bool? = try await loop.callFiles {
        var status = stat()
        return stat(path, &status) == 0
      }
      guard answer != nil else { throw AudioError.unanswered(path) }
    }
  }

  /// Returns the files that the paths stand for, in their order. Reads folders and playlists on a thread of its own;
  /// files are not opened. A path on a mount that does not answer stands for a file, which fails in its turn.
  /// - Throws: `AudioError` for a folder or playlist without a sound file, or that can't be read; for a playlist that
  ///   lists a station; for more than `AudioFolder.fileLimit` files.
  public static func find(_ paths: [String], on loop: EventLoop) async throws -> [QueueEntry] {
    guard !loop.isVirtual else { return try entries(of: paths, silent: []) }
    let hold = loop.hold("a folder is read")
    defer { hold.release() }
    return try await withCheckedThrowingContinuation { continuation in
      do {
        try startDetachedThread("no thread to read a folder") {
          let result = Result { try entries(of: paths, silent: try silentMounts(of: paths)) }
          loop.post { continuation.resume(with: result) }
        }
      } catch { continuation.resume(throwing: error) }
    }
  }

  private static func entries(of paths: [String], silent: Set<String>) throws -> [QueueEntry] {
    let found = try paths.flatMap { path in
      if !silent.isEmpty, let mount = RemoteMount.of(path), silent.contains(mount.folder) {
        return [QueueEntry(path: path)]
      }
      return try entries(at: path)
    }
    guard found.count <= AudioFolder.fileLimit else {
      throw AudioError(
        .unsupported, "a queue has \(AudioFolder.fileLimit) files at most, and these are \(found.count)",
        facts: [.init("count", .int(found.count))])
    }
    return found
  }

  /// Returns the folders of the remote mounts that hold the paths and do not answer.
  private static func silentMounts(of paths: [String]) throws -> Set<String> {
    let calls = try RemoteMount.holding(paths).map { mount, path in
      (
        mount.folder,
        try FileCall {
          var status = stat()
          return stat(path, &status) == 0
        }
      )
    }
    return Set(try calls.filter { try $0.1.wait() == nil }.map(\.0))
  }

  private static func entries(at path: String) throws -> [QueueEntry] {
    guard isCollection(path) else { return [QueueEntry(path: path)] }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      let files = try AudioFolder.files(in: path)
      guard !files.isEmpty else {
        throw AudioError(
          .notFound, "the folder \(path) has no sound files",
          hint: "files are known by names such as .mp3 and .flac",
          facts: [.init("path", .string(path))])
      }
      return files.map { QueueEntry(path: $0) }
    }
    guard let format = FilePlaylist.format(ofPath: path) else {
      throw AudioError(
        .unsupported, "\(path) is a list of stations, not of files",
        hint: "lists of files are m3u, pls and xspf",
        facts: [.init("path", .string(path))])
    }
    let bytes: [UInt8]
    do { bytes = try WholeFile.read(path, atMost: Playlist.sizeLimit) } catch {
      let cause = error.reason.prefix(1).lowercased() + error.reason.dropFirst()
      throw AudioError.notFound(path, cause: cause, hint: error.hint)
    }
    return try FilePlaylist(bytes, format: format, path: path).entries.map {
      QueueEntry(path: $0.path, title: $0.title)
    }
  }
}
