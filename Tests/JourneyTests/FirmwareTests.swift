import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@Suite("roomtone firmware", .waiting, .tags(.firmware, .command)) struct FirmwareTests {
  private let home: Home
  private let image: [UInt8]

  init() throws {
    home = try Home()
    var random = SeededRandom(seed: 9)
    image = random.bytes(5_000)
    try home.write(image, to: "app.bin")
  }

  /// Creates key.pem and public.pem with openssl.
  private func makeKeys(_ name: String = "key") throws {
    try Command.succeed(
      "openssl", ["genpkey", "-algorithm", "ed25519", "-out", home.path("\(name).pem")])
    try Command.succeed(
      "openssl",
      ["pkey", "-in", home.path("\(name).pem"), "-pubout", "-out", home.path("\(name)-public.pem")])
  }

  private func pack(_ more: String...) throws -> Outcome {
    try home.start(["firmware", "pack", "app.bin", "--model", "RT-1"] + more).finish()
  }

  /// Returns `true` if openssl accepts the signature of the file: the 64 bytes before the image, over all
  /// before them.
  private func isSigned(_ file: String, by key: String) throws -> Bool {
    let bytes = try readBytes(home.path(file))
    let end = bytes.count - image.count
    try home.write(Array(bytes[..<(end - 64)]), to: "signed")
    try home.write(Array(bytes[(end - 64)..<end]), to: "signature")
    return try Command.run(
      "openssl",
      [
        "pkeyutl", "-verify", "-pubin", "-inkey", home.path(key), "-rawin", "-in", home.path("signed"),
        "-sigfile", home.path("signature"),
      ]
    ).status == 0
  }

  @Test("a file is packed, described, and reported as signed with the development key")
  func development() throws {
    let packed = try pack("--version", "1.10.2", "--lowest", "1.2", "-o", "app.rtfw")
    #expect(packed.status == 0 && packed.errors == "", "\(packed)")
    #expect(packed.output.contains("development key"))
    let hash = try Command.succeed("sha256sum", [home.path("app.bin")]).text.prefix(64)
    #expect(try readBytes(home.path("app.rtfw")).suffix(image.count) == image[...])
    let inspected = try home.run("firmware", "inspect", "app.rtfw")
    #expect(inspected.status == 0 && inspected.errors == "")
    #expect(
      inspected.lines == [
        "File       app.rtfw", "Model      RT-1", "Version    1.10.2", "Updates    1.2 or newer",
        "Image      5000 bytes", "SHA-256    \(hash)", "Hash       holds",
        "Signature  holds, by the development key, which only emulated boards trust",
      ])
    let read = try home.runInShell(
      "$ROOMTONE firmware inspect app.rtfw --json | python3 -c 'import json, sys; print(json.load(sys.stdin))'"
    )
    #expect(
      read.output
        == "{'file': 'app.rtfw', 'model': 'RT-1', 'version': '1.10.2', 'lowest_version': '1.2', 'size': 5000, "
        + "'sha256': '\(hash)', 'hash_holds': True, 'signature_holds': True, 'key': 'development', "
        + "'is_development': True}\n")
  }

  @Test("signatures are those that openssl makes and accepts, with keys that it made")
  func openssl() throws {
    try makeKeys()
    try makeKeys("other")
    #expect(try pack("--version=2", "--key=key.pem", "-oapp.rtfw").status == 0)
    #expect(try isSigned("app.rtfw", by: "key-public.pem"))
    #expect(try !isSigned("app.rtfw", by: "other-public.pem"))
    let good = try home.run("firmware", "inspect", "app.rtfw", "--key", "key-public.pem")
    #expect(good.status == 0)
    #expect(good.lines.last == "Signature  holds, by key-public.pem")
    #expect(good.lines[3] == "Updates    any version")
    let other = try home.run("firmware", "inspect", "app.rtfw", "--key", "other-public.pem")
    #expect(other.status == 1)
    #expect(other.lines.last == "Signature  does not hold for other-public.pem")
    let unknown = try home.run("firmware", "inspect", "app.rtfw")
    #expect(unknown.status == 1)
    #expect(unknown.output.contains("is not by the development key; --key FILE"))
  }

  @Test("signing anew changes the signature alone, and keeps the file's permissions")
  func sign() throws {
    try makeKeys()
    #expect(try pack("--version", "2", "-o", "app.rtfw").status == 0)
    let before = try readBytes(home.path("app.rtfw"))
    #expect(chmod(home.path("app.rtfw"), 0o640) == 0)
    let signed = try home.run("firmware", "sign", "app.rtfw", "--key", "key.pem")
    #expect(signed.status == 0 && signed.output == "app.rtfw: signed with key.pem\n", "\(signed)")
    let after = try readBytes(home.path("app.rtfw"))
    let signature = (after.count - image.count - 64)..<(after.count - image.count)
    #expect(after.count == before.count)
    #expect(after.indices.filter { after[$0] != before[$0] }.allSatisfy(signature.contains))
    #expect(try isSigned("app.rtfw", by: "key-public.pem"))
    var status = stat()
    #expect(stat(home.path("app.rtfw"), &status) == 0 && status.st_mode & 0o777 == 0o640)
    #expect(fileNames(in: home.path("")).filter { $0.hasPrefix("app.rtfw") } == ["app.rtfw"])
  }

  @Test("nothing is overwritten without --force, and nothing half written is left")
  func overwriting() throws {
    try home.script("mine", as: "app.rtfw")
    let refused = try pack("--version", "2", "-o", "app.rtfw")
    #expect(refused.status == 1)
    #expect(
      refused.errorLines == [
        "roomtone: app.rtfw is there already (firmware.write); --force replaces it"
      ])
    #expect(try readBytes(home.path("app.rtfw")) == Array("mine".utf8))
    #expect(try pack("--version", "2", "-o", "app.rtfw", "--force").status == 0)
    #expect(try home.run("firmware", "inspect", "app.rtfw").status == 0)
    let nowhere = try pack("--version", "2", "-o", "none/app.rtfw")
    #expect(nowhere.status == 1 && nowhere.errors.contains("can't write none/app.rtfw"), "\(nowhere)")
    #expect(try pack("--version", "2", "-o", "app.bin", "--force").status == 2)
    #expect(try readBytes(home.path("app.bin")) == image)
    #expect(
      fileNames(in: home.path("")) == ["app.bin", "app.rtfw", "config", "runtime", "state"])
  }

  @Test("a private key that others can read is refused, and so is what is no such key")
  func keys() throws {
    try makeKeys()
    #expect(chmod(home.path("key.pem"), 0o644) == 0)
    let open = try pack("--version", "2", "--key", "key.pem", "-o", "app.rtfw")
    #expect(open.status == 1)
    #expect(
      open.errorLines == [
        "roomtone: the key key.pem can't be used: it can be read by others than its owner (headset.auth); "
          + "chmod 600 key.pem"
      ])
    #expect(chmod(home.path("key-public.pem"), 0o600) == 0)
    #expect(
      try pack("--version", "2", "--key", "key-public.pem", "-o", "app.rtfw").errors.contains(
        "the key key-public.pem is not a key in PEM"))
    #expect(try pack("--version", "2", "--key", "none.pem", "-o", "app.rtfw").status == 1)
    #expect(fileNames(in: home.path("")).contains("app.rtfw") == false)
  }

  @Test("a damaged file is reported by inspect, and not signed")
  func damage() throws {
    try makeKeys()
    #expect(try pack("--version", "2", "-o", "app.rtfw").status == 0)
    var bytes = try readBytes(home.path("app.rtfw"))
    bytes[bytes.count - 1] ^= 1
    try home.write(bytes, to: "app.rtfw")
    let inspected = try home.run("firmware", "inspect", "app.rtfw")
    #expect(inspected.status == 1)
    #expect(inspected.lines[6] == "Hash       does not hold: the image is damaged")
    let signed = try home.run("firmware", "sign", "app.rtfw", "--key", "key.pem")
    #expect(signed.status == 1 && signed.errors.contains("SHA-256 differs"), "\(signed)")
    #expect(try readBytes(home.path("app.rtfw")) == bytes)
    try home.write(bytes.dropLast(), to: "app.rtfw")
    let short = try home.run("firmware", "inspect", "app.rtfw")
    #expect(short.status == 1 && short.output == "")
    #expect(short.errors.contains("the manifest says 5000 bytes of image, and 4999 follow"), "\(short)")
  }

  @Test("a missing or impossible argument is wrong usage, reported with the right form")
  func usage() throws {
    let cases: [([String], String)] = [
      (["pack", "app.bin", "--model", "RT-1", "--version", "2"], "firmware pack needs --output"),
      (["pack", "app.bin", "-o", "a", "--version", "2"], "firmware pack needs --model"),
      (["pack", "app.bin", "-o", "a", "--model", "RT-1"], "firmware pack needs --version"),
      (
        ["pack", "app.bin", "-o", "a", "--model", "RT-1", "--version", "v2"],
        "--version: 'v2' is not a version"
      ),
      (
        ["pack", "app.bin", "-o", "a", "--model", "RT-1", "--version", "2", "--lowest", "2.1"],
        "--lowest: 2.1 is newer"
      ),
      (
        ["pack", "app.bin", "-o", "a", "--model", "\u{7}", "--version", "2"],
        "--model: '?' is not a valid model name"
      ),
      (["sign", "app.bin"], "firmware sign needs --key"), (["inspect"], "FILE"), ([], "FILE"),
    ]
    for (arguments, message) in cases {
      let outcome = try home.start(["firmware"] + arguments).finish()
      #expect(outcome.status == 2 && outcome.output == "", "\(arguments): \(outcome)")
      #expect(outcome.errorLines.count == 1 && outcome.errors.contains(message), "\(arguments): \(outcome)")
    }
    #expect(fileNames(in: home.path("")).contains("a") == false)
  }
}
