/// An `openssl s_server` on a free port of 127.0.0.1, which serves one page, or files, to clients that
/// trust its certificate.
public struct SecureServer {
  private let process: ServerProcess
  /// The port, chosen by the kernel.
  public let port: Int
  /// The folder of its key and its certificate.
  public let folder: TemporaryFolder

  /// Starts a server with a certificate of its own.
  /// - Parameter sendsFiles: `true` if the files of `folder` are the answers, each whole, with its head.
  public init(sendsFiles: Bool = false) throws {
    folder = try TemporaryFolder()
    let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
    try Command.succeed(
      "openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
      ])
    // Answers are files of the working directory.
    process = try ServerProcess(
      "sh",
      [
        "-c",
        "cd \"$0\" && exec openssl s_server -accept 127.0.0.1:0 -key key.pem -cert certificate.pem \"$1\"",
        folder.path, sendsFiles ? "-HTTP" : "-www",
      ], log: folder.file("log"))
    port = try process.wait(for: "openssl to listen") { output in
      output.firstRange(of: "ACCEPT 127.0.0.1:").flatMap { found in
        Int(output[found.upperBound...].prefix { $0.isNumber })
      }
    }
  }

  /// The path of its certificate.
  public var certificate: String { folder.file("certificate.pem") }
}
