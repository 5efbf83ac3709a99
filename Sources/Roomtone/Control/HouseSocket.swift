internal import EventLoop
internal import Glibc
internal import Home

/// The control socket of a process that has the house without being a daemon: it answers about the house as long as that
/// is open, so that a person at a shell need not know which process has it. Confined to the loop.
final class HouseSocket {
  private let path: String
  private unowned let engine: Engine
  private let methods: HouseMethods
  private var server: ControlServer?

  /// The socket at `path`, at which nothing listens yet.
  init(path: String, of engine: Engine) {
    (self.path, self.engine) = (path, engine)
    methods = HouseMethods(of: engine, isDaemon: false)
  }

  /// Listens until the house closes. Goes without a socket that another process has, or that can't be made.
  func open() {
    do throws(DaemonError) {
      server = try ControlServer(
        path: path, name: engine.options.processName, loop: engine.loop, keepsAlive: false
      ) { [unowned self] in perform($0) }
    } catch {
      return engine.onLog(.debug, "other processes can't ask this one about the house: \(error.message)", [])
    }
    _ = engine.house.whenClosed { [weak self] in self?.close() }
  }

  private func perform(_ request: ControlRequest) {
    methods.perform(request, by: methods.methods) {
      DaemonError(
        .none, "no daemon runs: \(engine.options.processName) (process \(getpid())) has the house",
        hint: "end it, and start one: roomtone serve")
    }
  }

  private func close() {
    guard let server else { return }
    self.server = nil
    server.close()
    // Its clients end in a later turn.
    engine.loop.next(turns: 3) { withExtendedLifetime(server) {} }
  }
}
