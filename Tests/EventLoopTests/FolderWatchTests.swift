import EventLoop
import Glibc
import TestTraits
import Testing

@Suite(.tags(.daemon)) struct FolderWatchTests {
  /// A folder with its watch, and the changes that were reported.
  private final class Watched {
    let loop = EventLoop()
    let folder: String
    var changes: [FolderWatch.Change] = []
    private var watch: FolderWatch?

    init() throws {
      var template = Array("/tmp/folder-watch-XXXXXX".utf8CString)
      folder = String(cString: mkdtemp(&template))
      watch = try FolderWatch(on: loop) { [unowned self] in changes.append($0) }
      try watch?.add(folder)
    }

    deinit {
      watch?.close()
      for name in (try? LinuxFiles.names(in: folder)) ?? [] {
        unlink("\(folder)/\(name)")
        rmdir("\(folder)/\(name)")
      }
      rmdir(folder)
    }

    func write(_ name: String) {
      let file = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      _ = Glibc.write(file, "x", 1)
      close(file)
    }

    /// Runs the loop until something is reported, or for that time.
    func settle(within time: Duration = .seconds(1)) {
      var isOver = false
      loop.after(time) { isOver = true }
      _ = loop.run(until: { isOver || !changes.isEmpty })
    }
  }

  @Test("a file is reported when it is written, moved in and removed, and not when it is just made")
  func files() throws {
    let watched = try Watched()
    let half = open("\(watched.folder)/half", O_WRONLY | O_CREAT, 0o600)
    watched.write("whole")
    watched.settle()
    #expect(watched.changes == [.entry(folder: watched.folder, name: "whole")])
    watched.changes = []
    close(half)
    // A process that another test begins at this moment has the file too, until it runs its program.
    watched.settle(within: .seconds(60))
    #expect(watched.changes == [.entry(folder: watched.folder, name: "half")])
    watched.changes = []
    rename("\(watched.folder)/whole", "\(watched.folder)/moved")
    unlink("\(watched.folder)/moved")
    watched.settle()
    let names = ["whole", "moved", "moved"]
    #expect(watched.changes == names.map { .entry(folder: watched.folder, name: $0) })
  }

  @Test("a link and a folder are reported when they are made")
  func links() throws {
    let watched = try Watched()
    symlink("/dev/null", "\(watched.folder)/link")
    mkdir("\(watched.folder)/_more", 0o700)
    watched.settle()
    #expect(watched.changes == ["link", "_more"].map { .entry(folder: watched.folder, name: $0) })
  }

  @Test("a folder that is moved away is reported, and no change of it after that")
  func gone() throws {
    let watched = try Watched()
    rename(watched.folder, watched.folder + "-away")
    watched.settle()
    #expect(watched.changes == [.folderGone(watched.folder)])
    rename(watched.folder + "-away", watched.folder)
    watched.changes = []
    watched.write("late")
    watched.settle()
    #expect(watched.changes.isEmpty)
  }
}

@Suite(.tags(.control)) struct UnixAddressTests {
  @Test("an address is a path of at most 107 bytes, or an abstract name")
  func length() throws {
    #expect(UnixAddress("") == nil && UnixAddress("@") == nil && UnixAddress("a\0b") == nil)
    #expect(UnixAddress(String(repeating: "x", count: 108)) == nil)
    let longest = try #require(UnixAddress(String(repeating: "x", count: 107)))
    #expect(longest.withPointer { $1 } == 110)
    #expect(try #require(UnixAddress("@ab")).withPointer { $1 } == 5)
  }

  @Test("the user and the process at the other end of a socket are known")
  func peer() throws {
    var pair: [Int32] = [0, 0]
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
    defer { for end in pair { close(end) } }
    let peer = try #require(LinuxSockets.peer(of: pair[0]))
    #expect(peer.process == getpid() && peer.user == getuid())
    #expect(LinuxSockets.peer(of: STDIN_FILENO) == nil)
  }
}
