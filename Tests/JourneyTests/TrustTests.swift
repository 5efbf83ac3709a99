import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("Whose certificates are trusted", .waiting, .tags(.error, .stream)) struct TrustTests {
  @Test("those of --ca-file and of SSL_CERT_FILE are, and no others")
  func certificates() throws {
    let (server, home) = (try SecureServer(), try Home())
    let record = "$ROOMTONE record https://localhost:\(server.port)/ -o tune --for 1s"
    let unknown = try home.runInShell(record)
    #expect(unknown.status == 1 && unknown.errors.contains("certificate"), "\(unknown)")
    for line in [
      "SSL_CERT_FILE=\(server.certificate) \(record)", "\(record) --ca-file \(server.certificate)",
    ] {
      let trusted = try home.runInShell(line)
      // The server is reached: it returns a page instead of sound.
      #expect(trusted.status == 1 && trusted.errors.contains("HTML"), "\(trusted)")
    }
  }

  @Test("the user, the password in a file and the user agent are sent to the station that is recorded")
  func password() throws {
    let (station, home) = (try Station(), try Home())
    var live = Live(
      .init(repeating: try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), bytesPerSecond: 16_000))
    live.pace = .realTime(1)
    station.answer("/live", with: Answer.live(live).requiring(user: "me", password: "secret"))
    try home.write(Array("secret\n".utf8), to: "password")
    let record = "$ROOMTONE record \(station.url("/live")) -o tune --for 1s --user-agent Kitchen --user me"
    for command in ["record \(station.url("/live")) -o tune --for 1s", "play \(station.url("/live"))"] {
      let nobody = try home.runInShell("$ROOMTONE \(command)")
      #expect(nobody.status == 1, "\(nobody)")
      #expect(
        nobody.errors.contains("(stream.auth); give --user NAME and --password-file FILE\n"), "\(nobody)")
    }
    let before = station.visits.count
    let open = try home.runInShell("chmod 644 password; \(record) --password-file password")
    #expect(open.status == 1 && open.errors.contains("by others"), "\(open)")
    let outcome = try home.runInShell("chmod 600 password; \(record) --password-file password")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(station.visits.count == before + 1 && station.visits.last?["User-Agent"] == "Kitchen")
    let wrong = try home.runInShell(record)
    #expect(wrong.status == 2 && wrong.errors.contains("--password-file"), "\(wrong)")
  }

  @Test(
    "the user, the password and the query of a URL on the command line are hidden from the machine's users")
  func commandLine() throws {
    let (station, home) = (try Station(), try Home())
    var live = Live(
      .init(repeating: try readBytes(Fixtures.path("mp3-cbr128-44k.mp3")), bytesPerSecond: 16_000))
    live.pace = .realTime(1)
    station.answer("/live?token=tulip", with: Answer.live(live).requiring(user: "bob", password: "sesame"))
    let url = station.url("/live?token=tulip").replacing("http://", with: "http://bob:sesame@")
    let record = try home.start(["record", url, "-o", "tune.mp3", "--for", "2s"])
    while station.visits.isEmpty { usleep(10_000) }
    let shown = String(decoding: try readBytes("/proc/\(record.process)/cmdline"), as: UTF8.self)
    let outcome = try record.finish()
    #expect(outcome.status == 0, "\(outcome)")
    let hidden = "http://**********@" + station.url("/live?***********").dropFirst("http://".count)
    #expect(
      shown.split(separator: "\0").dropFirst().map(String.init) == [
        "record", hidden, "-o", "tune.mp3", "--for", "2s",
      ])
  }
}
