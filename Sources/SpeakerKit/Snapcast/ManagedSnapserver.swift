internal import EventLoop
internal import Glibc

/// A snapserver that the host starts on loopback, and ends. Confined to the loop, but for the thread that waits for its
/// end.
///
/// It ends with the host, even if the host is killed: `setpriv --pdeathsig`, where it is installed, asks the
/// kernel for that.
final class ManagedSnapserver {
  /// The ports of the control, of snapclients and of the streams.
  struct Ports: Equatable {
    let control: Int
    let clients: Int
    let streams: [Int]
  }

  private enum Phase {
    case stopped
    case running(pid_t)
    case ending(pid_t, CheckedContinuation<Void, Never>?)
  }

  /// The reason of the last end by itself; nil without one.
  private(set) var failure: SpeakerError?
  /// The ports, from the first start on.
  private(set) var ports = Ports(control: 0, clients: 0, streams: [])

  private let loop: EventLoop
  private let settings: SnapcastSettings
  private let folder: String
  private let isTemporary: Bool
  private let ended: (SpeakerError) -> Void
  private var phase = Phase.stopped

  /// Creates a server that keeps its state in a folder; in a temporary one when it is nil.
  /// - Parameter ended: called when the process has ended by itself.
  /// - Throws: `speaker.lost` when the folder can't be made.
  init(
    loop: EventLoop, settings: SnapcastSettings, stateFolder: String?,
    ended: @escaping (SpeakerError) -> Void
  ) throws(SpeakerError) {
    (self.loop, self.settings, self.ended) = (loop, settings, ended)
    if let stateFolder {
      (folder, isTemporary) = (stateFolder + "/snapserver", false)
      guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw Self.refusal(folder) }
    } else {
      var template = Array("/tmp/roomtone-snapserver-XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else { throw Self.refusal("/tmp") }
      folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      isTemporary = true
    }
  }

  deinit {
    if case .running(let process) = phase { kill(process, SIGKILL) }
    removeTemporary()
  }

  private func removeTemporary() {
    guard isTemporary else { return }
    for file in ["server.json", "snapserver.conf"] { unlink("\(folder)/\(file)") }
    rmdir(folder)
  }

  private static func refusal(_ path: String) -> SpeakerError {
    SpeakerError(
      .lost, "can't make the folder \(path.onOneLine) of the snapserver: \(SystemError(errno).text)")
  }

  /// The process id while it runs.
  var processID: Int32? { if case .running(let process) = phase { process } else { nil } }

  /// Starts the server, at its first start on ports that are free, and later on the same ones.
  /// - Throws: `speaker.lost` when there is no snapserver, or its files can't be written.
  func start() throws(SpeakerError) {
    guard case .stopped = phase else { return }
    if ports.streams.isEmpty {
      let free = try TCPSocket.freePorts(settings.sessions + 3)
      let usual = (control: settings.port, clients: settings.port - 1)
      let isUsual = TCPSocket.isFree(usual.control) && TCPSocket.isFree(usual.clients)
      ports = Ports(
        control: isUsual ? usual.control : free[0], clients: isUsual ? usual.clients : free[1],
        streams: Array(free[2...]))
    }
    let path = "\(folder)/snapserver.conf"
    let text = Array(configuration.utf8)
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0, write(file, text, text.count) == text.count else {
      if file >= 0 { close(file) }
      throw SpeakerError(.lost, "can't write \(path.onOneLine): \(SystemError(errno).text)")
    }
    close(file)
    let process = try Self.spawn(["snapserver", "--config=\(path)"])
    phase = .running(process)
    waitForEnd(process)
  }

  private var configuration: String {
    """
    [server]
    datadir = \(folder)
    [http]
    enabled = false
    [tcp]
    bind_to_address = 127.0.0.1
    port = \(ports.control)
    [stream]
    bind_to_address = 127.0.0.1
    port = \(ports.clients)
    buffer = \(settings.buffer.inMilliseconds)
    \(settings.sources(ports: ports.streams).joined(separator: "\n"))
    [logging]
    sink = null

    """
  }

  /// Starts a program that ends with this process; found in PATH.
  private static func spawn(_ arguments: [String]) throws(SpeakerError) -> pid_t {
    let bound = ["setpriv", "--pdeathsig", "KILL"] + arguments
    for words in access("/usr/bin/setpriv", X_OK) == 0 ? [bound, arguments] : [arguments] {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      for descriptor: Int32 in 0...2 {
        posix_spawn_file_actions_addopen(
          &actions, descriptor, "/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY, 0)
      }
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      // In a group of its own, a Ctrl-C at the terminal does not reach it: the host ends it when nothing plays.
      separateSignals(&attributes)
      let texts: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
      defer { for text in texts { free(text) } }
      var process = pid_t()
      if posix_spawnp(&process, words[0], &actions, &attributes, texts + [nil], environ) == 0 {
        return process
      }
    }
    throw SpeakerError(
      .lost, "the snapserver can't be started: \(SystemError(ENOENT).text)",
      hint: "apt-get install snapserver")
  }

  private func waitForEnd(_ process: pid_t) {
    let (loop, this) = (loop, LoopReference(self))
    do throws(LoopError) {
      try startDetachedThread("no thread to wait for the snapserver") {
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 && errno == EINTR {}
        let ended = status
        loop.post { this.object?.ended(process, ended) }
      }
    } catch { ended(SpeakerError(.lost, error.message)) }
  }

  private func ended(_ process: pid_t, _ status: Int32) {
    switch phase {
    case .running(process):
      phase = .stopped
      let signal = status & 0x7F
      let reason =
        signal != 0
        ? "signal \(signal)"
        : status >> 8 & 0xFF == 127
          ? "it is not installed; apt-get install snapserver" : "status \(status >> 8 & 0xFF)"
      let failure = SpeakerError(.lost, "the snapserver of the host has ended: \(reason)")
      self.failure = failure
      ended(failure)
    case .ending(process, let continuation):
      phase = .stopped
      continuation?.resume()
    case .stopped, .running, .ending: break
    }
  }

  /// Ends the server; returns when it has ended.
  func stop() async {
    guard case .running(let process) = phase else { return removeTemporary() }
    let hold = loop.hold("the snapserver ends")
    defer { hold.release() }
    let timer = loop.after(.seconds(2)) { kill(process, SIGKILL) }
    await withCheckedContinuation { continuation in
      phase = .ending(process, continuation)
      kill(process, SIGTERM)
    }
    timer.cancel()
    removeTemporary()
  }
}
