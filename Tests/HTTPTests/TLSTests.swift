import HTTP
import TestSupport
import Testing

/// `openssl s_server` on a free port of 127.0.0.1, which serves one page to whoever trusts its certificate.
private struct SecureServer {
  let process: ServerProcess
  let port: Int
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
    try Command.succeed(
      "openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
      ])
    process = try ServerProcess(
      "openssl", ["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"],
      log: folder.file("log"))
    port = try process.wait(for: "openssl to listen") { output in
      output.firstRange(of: "ACCEPT 127.0.0.1:").flatMap { found in
        Int(output[found.upperBound...].prefix { $0.isNumber })
      }
    }
  }

  var certificate: String { folder.file("certificate.pem") }
}

@Suite("TLS")
struct TLSTests {
  @Test("a certificate is trusted that the file names, for the name that it names, and no other")
  func trust() throws {
    let server = try SecureServer()
    let network = try NetworkThread()
    let url = "https://localhost:\(server.port)/"
    let unknown = try #require(try network.failure(url))
    #expect(unknown.kind == .tls)
    #expect(unknown.message.contains("localhost"))

    let trusted = try network.get(url) { $0.certificateFile = server.certificate }
    #expect(trusted.ends == [nil], "\(trusted.ends)")
    #expect(trusted.heads.map(\.status) == [200])
    #expect(trusted.text.contains("TLS"))

    let otherName = try network.failure("https://127.0.0.1:\(server.port)/") {
      $0.certificateFile = server.certificate
    }
    #expect(otherName?.kind == .tls)
    let noFile = try network.failure(url) { $0.certificateFile = server.folder.file("none") }
    #expect(noFile?.kind == .tls)
  }
}
