internal import Database
internal import EventLoop
internal import Glibc
internal import HeadsetKit
internal import Home
internal import LuaRuntime
internal import RecordingKit
internal import Roomtone
internal import SpeakerKit

/// Checks of files and folders: configuration, state, recordings, catalogue.
enum FolderChecks {
  /// Bytes that a folder of state should have free.
  private static let leastState = 50_000_000

  static func table(_ subject: DoctorSubject) -> [Check] {
    let recordings = subject.configuration.recordings
    let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
    var checks = [
      Check(["configuration"], isAskedFor: true) { configuration(subject) },
      Check("state", isAskedFor: true) {
        guard let state = UserFolders.state else {
          return .fail("state", "there is no home folder", hint: "set HOME or XDG_STATE_HOME")
        }
        return folder("state", state, least: leastState, isAskedFor: true)
      },
      Check("runtime") { Self.runtime(runtime) },
      Check("recordings", isAskedFor: recordings.folder != nil) {
        guard let path = recordings.folder else {
          return .ok("recordings", "no folder is configured: record needs -o")
        }
        return folder(
          "recordings", path, least: max(recordings.minimumFree, leastState), isAskedFor: true,
          mayBeMissing: true)
      },
    ]
    for (name, path) in [("catalogue", UserFolders.catalogue), ("store", UserFolders.store)] {
      checks.append(Check([name], isAskedFor: true, limit: .seconds(10)) { [database(name, path)] })
    }
    return checks
  }

  // MARK: Configuration

  /// Returns the findings for the configuration: one for each error, or one that counts its contents.
  static func configuration(_ subject: DoctorSubject) -> [Finding] {
    let name = "configuration"
    guard subject.errors.isEmpty else {
      return subject.errors.map { error in
        var bare = error
        bare.hint = nil
        return .fail(name, bare.description, hint: error.hint)
      }
    }
    guard let path = subject.path else {
      return [.ok(name, "none: the defaults, with a house of six speakers")]
    }
    let configuration = subject.configuration
    let parts = [
      configuration.house.speakers.map { counted($0.count, "speaker") },
      counted(configuration.stations.addresses.count, "station"),
      configuration.headset.address == nil ? nil : "a headset",
    ]
    return [.ok(name, "\(path): \(parts.compactMap { $0 }.joined(separator: ", "))")]
  }

  static func counted(_ count: Int, _ noun: String) -> String {
    count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
  }

  // MARK: Folders

  /// Returns the finding for a folder that is written into.
  /// - Parameters:
  ///   - least: bytes that should be free.
  ///   - isAskedFor: `true` if it is a failure when nothing can be written.
  ///   - mayBeMissing: `true` for a folder whose absence may mean that its disk is not mounted.
  static func folder(
    _ check: String, _ path: String, least: Int, isAskedFor: Bool, mayBeMissing: Bool = false
  ) -> Finding {
    func problem(_ detail: String, hint: String?) -> Finding {
      .problem(check, isAskedFor: isAskedFor, detail, hint: hint)
    }
    var (place, isThere) = (path, true)
    var status = stat()
    while stat(place, &status) != 0 {
      let number = errno
      guard number == ENOENT, place != "/", place != "." else {
        return problem("\(path): \(SystemError(number).text)", hint: "name another folder")
      }
      isThere = false
      place = LinuxFiles.folder(of: place)
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return problem("\(place) is not a folder", hint: "move it away, or name another folder")
    }
    guard access(place, W_OK | X_OK) == 0 else {
      let reason = SystemError(errno).text
      return problem(
        "can't write into \(place): \(reason)", hint: "change its owner or its rights, or name another folder"
      )
    }
    let free: Int
    do throws(SystemError) {
      free = try LinuxFiles.freeBytes(at: place)
    } catch {
      return problem("\(path): its free space can't be read: \(error.text)", hint: nil)
    }
    let detail = "\(path), \(ByteSize.describe(free)) free" + (isThere ? "" : ", is created when needed")
    guard free >= least else {
      return problem(
        "\(path): only \(ByteSize.describe(free)) free, of \(ByteSize.describe(least)) that should be",
        hint: "make room on its disk")
    }
    guard isThere || !mayBeMissing else {
      return .warn(check, detail, hint: "mount its disk, if it has one of its own")
    }
    return .ok(check, detail)
  }

  /// Returns the finding for the folder of sockets.
  static func runtime(_ path: String?) -> Finding {
    guard let path, path.hasPrefix("/") else {
      return .warn(
        "runtime", "XDG_RUNTIME_DIR is not set: no daemon can be reached",
        hint: "log in through systemd (loginctl enable-linger), or set it to a folder of your own")
    }
    return folder("runtime", path, least: 0, isAskedFor: false)
  }

  // MARK: Databases

  /// Returns the finding for a database, which is read from its first page to its last, and left as it is.
  static func database(_ check: String, _ path: String?) -> Finding {
    guard let path else {
      return .fail(check, "there is no home folder", hint: "set HOME or XDG_STATE_HOME")
    }
    guard access(path, F_OK) == 0 else { return .ok(check, "none yet") }
    do throws(DatabaseError) {
      let database = try Database(path: path, busyTimeout: .seconds(2))
      let flaw = try database.query("PRAGMA quick_check(1)").first?.text(0) ?? "no answer"
      guard flaw == "ok" else { return damaged(check, path, flaw.onOneLine) }
      return .ok(check, "\(path) is sound")
    } catch {
      guard error.kind == .damaged else { return .fail(check, error.message, hint: error.hint) }
      return damaged(check, path, nil)
    }
  }

  private static func damaged(_ check: String, _ path: String, _ flaw: String?) -> Finding {
    .fail(
      check, "\(path) is damaged" + (flaw.map { ": \($0)" } ?? ""),
      hint:
        "the next command that writes sets it aside and begins a new one; copy it first to save its contents"
    )
  }
}
