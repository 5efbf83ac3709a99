/// An `openssl s_server` on a free port of 127.0.0.1, which serves one page to clients that trust its
/// certificate.
public struct SecureServer {
  private let process: ServerProcess
  /// The port, chosen by the kernel.
  public let port: Int
  /// The folder of its key and its certificate.
  public let folder: TemporaryFolder

  /// Starts a server with a certificate of its own.
  public init() throws {
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

  /// The path of its certificate.
  public var certificate: String { folder.file("certificate.pem") }
}
