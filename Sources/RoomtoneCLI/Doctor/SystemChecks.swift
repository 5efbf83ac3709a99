internal import AudioCore
internal import Codecs
internal import Crypto
internal import Database
internal import EventLoop
internal import Glibc
internal import HTTP
internal import HeadsetLink
internal import Home
internal import LineEditor
internal import LuaRuntime
internal import MQTT
internal import RecordingKit
internal import Roomtone
internal import Scheduling
internal import SpeakerKit
internal import StreamCore

/// Checks of the machine: libraries, sound, time, programs.
enum SystemChecks {
  static func table(_ subject: DoctorSubject) -> [Check] {
    let configuration = subject.configuration
    let zone = getenv("TZ").map { String(cString: $0) }
    return [
      Check("version") { .ok("version", "roomtone \(Product.version)") },
      Check(libraries.map(\.name)) {
        libraries.map { name, version, failure in
          if let failure { return .warn(name, failure.message, hint: failure.hint) }
          return .ok(name, version ?? loadedFile(of: name) ?? "loaded")
        }
      },
      Check("open files", openFiles),
      Check("sound", isAskedFor: configuration.house.namesOutput) {
        sound(configuration.house.output, isAskedFor: configuration.house.namesOutput)
      },
    ] + cards(subject) + [
      Check("time zone", isAskedFor: zone != nil) { timeZone(zone) },
      Check("zone files") { zoneFiles() },
      Check("clock") { clock(LinuxClock.synchronization()) },
      Check("speech") { speech() },
    ]
  }

  // MARK: Libraries

  /// The libraries; those that are loaded at their first use, with the failure to load them.
  private static var libraries: [(name: String, version: String?, failure: LibraryError?)] {
    [("Lua", LuaState.libraryVersion, nil)] + CodecLibraries.versions + [
      ("SQLite", Database.libraryVersion, nil), ("xml2", XMLLibrary.version, nil),
      ("crypto", CryptoLibrary.version, nil), ("z", nil, nil),
      ("curl", CurlLibrary.version, CurlLibrary.failure),
      ("ALSA", SoundCards.libraryVersion, SoundCards.libraryFailure), ("tag", nil, TagLibrary.failure),
      ("edit", nil, EditLibrary.failure), ("microhttpd", nil, MediaLibrary.failure),
      ("avahi-client", nil, AvahiLibrary.failure), ("mosquitto", nil, MosquittoLibrary.failure),
    ]
  }

  /// Returns the name of the file of a library that reports no version, from the memory map: `libmpg123.so.0.47.0`.
  private static func loadedFile(of library: String) -> String? {
    guard let file = fopen("/proc/self/maps", "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 4096 + 128)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(
        decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard let name = text.split(separator: "/").last, name.hasPrefix("lib\(library).so") else { continue }
      return String(name)
    }
    return nil
  }

  private static func openFiles() -> Finding {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return .warn("open files", "the limit can't be read: \(SystemError(errno).text)", hint: nil)
    }
    return openFiles(limit: limit.rlim_cur)
  }

  /// Returns the finding for a limit of open files. A recorded station needs two.
  static func openFiles(limit: UInt) -> Finding {
    let detail = limit > 1 << 40 ? "no limit" : "\(limit) at most"
    guard limit < 1024 else { return .ok("open files", detail) }
    return .warn("open files", detail, hint: "raise it with ulimit -n; a recorded station needs two")
  }

  // MARK: Sound

  /// Returns the finding for an output, which is opened for a moment.
  static func sound(_ output: Output, isAskedFor: Bool) -> Finding {
    switch output.probe() {
    case .ready(let detail): .ok("sound", detail)
    case .folder(let path, let least): FolderChecks.folder("sound", path, least: least, isAskedFor: true)
    case .failed(let detail, let hint): .problem("sound", isAskedFor: isAskedFor, detail, hint: hint)
    }
  }

  /// Returns the checks of cards that speakers name, each of which is opened for a moment.
  static func cards(_ subject: DoctorSubject) -> [Check] {
    guard let house = subject.configuration.driver as? HouseSettings, let speakers = house.speakers,
      speakers.contains(where: { $0.output != nil || !$0.channels.isEmpty }),
      let plan = try? CardPlan(speakers, output: house.output)
    else { return [] }
    return plan.cards.map { card in
      let names = card.speakers.map { quoted(speakers[$0].name) }.joined(separator: ", ")
      return Check("sound card", isAskedFor: true) {
        do throws(AudioError) {
          try SoundCards.open(card.device, channels: card.channels)
          let channels = card.channels == 1 ? "channel 1" : "channels 1 to \(card.channels)"
          return .ok("sound card", "\"\(card.device)\" opens with \(channels), for \(names)")
        } catch {
          return .fail(
            "sound card", "\(error.message): \(names) in \(subject.path ?? "the configuration") stays silent",
            hint: error.hint)
        }
      }
    }
  }

  // MARK: Time

  /// Returns the finding for the zone of the process.
  /// - Parameters:
  ///   - variable: the value of `TZ`; nil without one.
  ///   - folder: the folder of the zone database.
  ///   - link: the file of the machine's zone.
  static func timeZone(
    _ variable: String?, folder: String = "/usr/share/zoneinfo", link: String = "/etc/localtime"
  ) -> Finding {
    let now = Int(time(nil))
    let offset = ProcessZone().offset(at: now)
    let shown =
      "UTC\(offset < 0 ? "-" : "+")\(twoDigits(abs(offset) / 3600)):\(twoDigits(abs(offset) / 60 % 60))"
    if let variable {
      let name = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
      if name.isEmpty { return .ok("time zone", "UTC, by an empty TZ") }
      // A POSIX rule such as `CET-1CEST` needs no file; an absolute path is a file.
      let rest = name.drop { $0.isLetter }
      let isRule =
        name.hasPrefix("<") || name.count >= rest.count + 3 && rest.first.map("+-0123456789".contains) == true
      let isFile = name.hasPrefix("/") && access(name, R_OK) == 0
      if isRule || isFile || (try? ZoneFile(named: name, in: folder)) != nil {
        return .ok("time zone", "\(name), now \(shown), by TZ")
      }
      return .fail(
        "time zone", "TZ is \(quoted(name)), which is not a zone: all times are UTC",
        hint: "zones are called by continent and city, as in Europe/Berlin; \(folder) lists them")
    }
    guard access(link, R_OK) == 0 else {
      return .warn(
        "time zone", "\(link) can't be read: all times are UTC",
        hint: "timedatectl set-timezone Europe/Berlin, or set TZ")
    }
    let real = realpath(link, nil)
    defer { free(real) }
    let target = real.map { String(cString: $0) } ?? link
    let name = target.hasPrefix(folder + "/") ? String(target.dropFirst(folder.count + 1)) : link
    return .ok("time zone", "\(name), now \(shown)")
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// Returns the finding for the zone database, which jobs in other zones and the simulation need.
  static func zoneFiles(in folder: String = "/usr/share/zoneinfo") -> Finding {
    let names = ZoneFile.names(in: folder)
    guard !names.isEmpty else {
      return .warn(
        "zone files", "\(folder) has no list of zones: jobs in other zones and --timezone fail",
        hint: "apt install tzdata")
    }
    let list = try? WholeFile.read(folder + "/tzdata.zi", atMost: 1 << 20)
    let first = String(decoding: (list ?? []).prefix { $0 != 10 }.prefix(60), as: UTF8.self)
    let version = first.hasPrefix("# version ") ? "tzdata \(first.dropFirst(10)), " : ""
    return .ok("zone files", "\(version)\(names.count) inhabited zones")
  }

  /// Returns the finding for the clock of the machine.
  static func clock(_ synchronization: LinuxClock.Synchronization) -> Finding {
    switch synchronization {
    case .synchronized(let error):
      return .ok("clock", "synchronized, at most \(Int((error / .milliseconds(1)).rounded(.up))) ms off")
    case .free:
      return .warn(
        "clock", "nothing keeps it in step: alarms and recordings may begin early or late",
        hint: "timedatectl set-ntp true (apt install systemd-timesyncd)")
    case .unknown: return .warn("clock", "the system does not say whether it is in step", hint: nil)
    }
  }

  // MARK: Programs

  /// Returns the finding for the program with which `announce` speaks.
  /// - Parameter path: the folders to search; nil for `PATH`.
  static func speech(path: String? = nil) -> Finding {
    guard let program = ExternalProgram.find("espeak-ng", in: path) else {
      return .warn(
        "speech", "espeak-ng is not there: announce plays files, and can't speak",
        hint: "apt install espeak-ng")
    }
    let result = try? ExternalProgram.run(program, ["--version"])
    let words = result.map { String(decoding: $0.output, as: UTF8.self) } ?? ""
    guard result?.status == 0 else {
      return .warn("speech", "\(program) does not run", hint: "apt install --reinstall espeak-ng")
    }
    let version = words.split(separator: " ").first { $0.first?.isNumber == true }
    return .ok("speech", "espeak-ng" + (version.map { " \($0)" } ?? ""))
  }
}
