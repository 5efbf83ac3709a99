internal import Codecs
internal import EventLoop
internal import Glibc
internal import HeadsetKit
internal import HeadsetLink
internal import Home
internal import MQTT
internal import Playback
internal import Reception
internal import Roomtone
internal import StreamCore

/// Checks of everything that is reached over a network or a socket: stations, headset, daemon.
enum NetworkChecks {
  /// Time for a station or a headset to answer.
  private static let timeout = Duration.seconds(5)

  /// - Parameter isOffline: `true` leaves the stations out.
  static func table(_ subject: DoctorSubject, isOffline: Bool) -> [Check] {
    let (named, headset) = (subject.configuration.stations, subject.configuration.headset)
    let names = named.addresses.keys.sorted()
    var checks: [Check] = []
    if !isOffline, !names.isEmpty {
      checks.append(
        Check(names.map { "station \($0)" }, isAskedFor: true, limit: timeout + .seconds(2)) {
          stations(named)
        })
    }
    checks.append(
      Check(["headset"], isAskedFor: headset.address != nil, limit: timeout + .seconds(2)) {
        [Self.headset(headset)]
      })
    if let mqtt = subject.configuration.mqtt {
      checks.append(
        Check(["mqtt"], isAskedFor: true, limit: timeout + .seconds(2)) { [broker(mqtt)] })
      if mqtt.homeAssistant { checks.append(HomeAssistantCheck.check) }
    }
    let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
    checks.append(Check("daemon") { daemon(socket: runtime.map { "\($0)/roomtone/control.sock" }) })
    return checks
  }

  // MARK: The broker of MQTT

  /// Returns the finding for the broker: if it answers and accepts the login. Blocks the calling thread.
  static func broker(_ options: MQTTOptions) -> Finding {
    let address = options.settings.address
    switch options.probe(within: timeout) {
    case nil:
      let user = options.settings.user.map { " as \($0)" } ?? " without a login"
      return .ok("mqtt", "\(address) answers, and lets this house in\(user)")
    case .login(let reason)?:
      return .fail(
        "mqtt", "\(address): \(reason)",
        hint: "set user and password_file in mqtt { } to a login of the broker; `roomtone help mqtt`")
    case .network(let reason)?:
      return .fail(
        "mqtt", "\(address) can't be reached: \(reason)",
        hint: "check host and port in mqtt { }, and that the broker runs: systemctl status mosquitto")
    case .library(let error)?: return .fail("mqtt", error.message, hint: error.hint)
    case .protocolVersion?: return .fail("mqtt", "\(address) speaks another version of MQTT", hint: nil)
    }
  }

  // MARK: Stations

  /// Returns a finding for each station, sorted by name; all are asked at the same time. Blocks the calling
  /// thread.
  static func stations(_ named: NamedStations, within timeout: Duration = timeout) -> [Finding] {
    let loop = EventLoop(name: "stations")
    defer { loop.close() }
    let streams = StreamService(loop: loop, named: named)
    defer { streams.close() }
    let names = named.addresses.keys.sorted()
    var findings: [String: Finding] = [:]
    for name in names {
      loop.start { findings[name] = await station(name, streams, loop, timeout) }
    }
    _ = loop.run(until: { findings.count == names.count })
    return names.compactMap { findings[$0] }
  }

  /// Listens to a station, without output, until it plays.
  private static func station(
    _ name: String, _ streams: StreamService, _ loop: EventLoop, _ timeout: Duration
  ) async -> Finding {
    let check = "station \(name)"
    let stream: Playback.Stream
    do throws(StreamError) { stream = try streams.stream(name).stream } catch {
      return .fail(check, error.message, hint: error.hint)
    }
    defer { stream.stop() }
    let starting = PendingCalls<Void>()
    loop.start {
      do {
        try await stream.start()
        starting.settle(.success(()))
      } catch { starting.settle(.failure(error)) }
    }
    do { try await starting.wait(on: loop, timeout: timeout) } catch let error as StreamError {
      return .fail(check, "\(error.message) (\(error.code))", hint: error.hint)
    } catch { return .fail(check, "\(error)", hint: nil) }
    guard let format = stream.format else {
      return .fail(
        check, "no sound within \(Int(timeout.inSeconds)) s",
        hint: "try it with roomtone play \(ShellWord.quoted(name))")
    }
    // Ogg and HLS stations announce neither a bit rate nor titles: both are found in the sound.
    if stream.bitRate == nil || !stream.station.sendsTitles { try? await loop.sleep(for: timeToMeasure) }
    let hasTitles = stream.station.sendsTitles || stream.title != nil
    return .ok(check, text(format, bitRate: stream.bitRate, hasTitles: hasTitles))
  }

  /// Time in which sound comes for the measurement of a rate.
  private static let timeToMeasure = Duration.milliseconds(3_500)

  /// Returns the facts of a station: `MP3, 44.1 kHz, stereo, 128 kbit/s, with titles`.
  private static func text(_ format: StreamFormat, bitRate: Int?, hasTitles: Bool) -> String {
    var facts = [format.codec.title]
    if format.sampleRate > 0 {
      let tenths = (format.sampleRate + 50) / 100
      facts.append(tenths % 10 == 0 ? "\(tenths / 10) kHz" : "\(tenths / 10).\(tenths % 10) kHz")
    }
    if format.channels > 0 {
      facts.append(
        format.channels == 1 ? "mono" : format.channels == 2 ? "stereo" : "\(format.channels) channels")
    }
    facts.append(bitRate.map { "\($0) kbit/s" } ?? "bit rate unknown")
    facts.append(hasTitles ? "with titles" : "no titles")
    return facts.joined(separator: ", ")
  }

  // MARK: Headset

  /// Returns the finding for the headset of the configuration, to which a link is opened. Blocks the calling thread.
  static func headset(_ settings: HeadsetSettings, within timeout: Duration = timeout) -> Finding {
    guard let address = settings.address else { return .ok("headset", "not configured") }
    let loop = EventLoop(name: "headset")
    defer { loop.close() }
    let headsets = Headsets(loop: loop, settings: settings)
    var finding: Finding?
    var hasLeft = false
    let task = loop.start {
      do throws(HeadsetError) {
        let headset = try await headsets.connect()
        let version = headset.firmwareVersion.map { ", firmware \($0)" } ?? ""
        finding = finding ?? .ok("headset", "\(headset.name ?? "\(address)")\(version)".onOneLine)
      } catch {
        finding = finding ?? .fail("headset", error.message, hint: error.hint)
      }
      await headsets.close()
      hasLeft = true
    }
    loop.after(timeout) {
      finding =
        finding
        ?? .fail(
          "headset", "\(address) gives no answer within \(Int(timeout.inSeconds)) s",
          hint: "switch it on, or correct headset { transport = … }")
      task.cancel()
    }
    loop.after(timeout + .seconds(1)) { hasLeft = true }
    _ = loop.run(until: { hasLeft })
    return finding ?? .fail("headset", "\(address) gives no answer", hint: nil)
  }

  // MARK: Daemon

  /// Returns the finding for the daemon at a socket.
  static func daemon(socket path: String?) -> Finding {
    guard let path, access(path, F_OK) == 0 else {
      return .ok("daemon", "not running: scripts run by themselves")
    }
    switch connect(to: path) {
    case 0: return .ok("daemon", "accepts connections at \(path)")
    case EAGAIN: return .warn("daemon", "too busy to accept a connection at \(path)", hint: nil)
    case ECONNREFUSED:
      return .warn(
        "daemon", "no process listens at \(path): the daemon ended without removing it",
        hint: "start it again")
    case let number: return .warn("daemon", "\(path): \(SystemError(number).text)", hint: nil)
    }
  }

  /// Connects to a socket and hangs up, without waiting.
  /// - Returns: 0, or an errno.
  private static func connect(to path: String) -> Int32 {
    guard let address = UnixAddress(path) else { return ENAMETOOLONG }
    let socket = Glibc.socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return errno }
    defer { close(socket) }
    return address.withPointer { Glibc.connect(socket, $0, $1) } == 0 ? 0 : errno
  }
}
