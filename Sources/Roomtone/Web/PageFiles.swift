internal import Crypto
public import EventLoop
internal import Glibc
internal import Home
package import WebServer

/// The files of the page's server, and the names of this machine.
public enum PageFiles {
  private static let largestFile = 1 << 20

  /// Returns the token of a hook with the mark of its file, and makes the file of one that has none.
  /// - Throws: `page.token`.
  public static func token(
    of hook: PageSettings.Hook, _ settings: PageSettings, _ stateFolder: String?
  ) throws(PageError) -> (token: String, mark: String, isNew: Bool) {
    guard let path = settings.tokenFile(of: hook, stateFolder: stateFolder) else {
      throw PageError(
        .token, "there is no folder for the token of the hook \(quoted(hook.name))",
        hint: "set HOME, or name a token_file")
    }
    let isNew = if hook.tokenFile == nil { try TokenFile.make(path) } else { false }
    // Before the content: a file that changes meanwhile then counts as changed.
    let mark = TokenFile.mark(path)
    return (try TokenFile.read(path), mark, isNew)
  }

  /// Returns the certificate and the key.
  /// - Throws: `page.certificate`: one of them can't be read, or they do not belong together.
  package static func identity(_ tls: PageSettings.TLS) throws(PageError) -> HTTPDaemon.Identity {
    let (certificate, key) = (try read(tls.certificate), try read(tls.key))
    _ = try parsed(tls, certificate, key)
    return HTTPDaemon.Identity(certificate: certificate, key: key)
  }

  /// The facts of a certificate.
  public struct CertificateFacts: Sendable {
    /// The moment at which it expires, in seconds since 1970.
    public let expires: Int
    /// `true` before the first and after the last moment of its validity.
    public let isInvalid: Bool
    /// `true` if clients have to be given it, as it is signed by itself.
    public let isSelfSigned: Bool
  }

  /// Returns the facts of the certificate.
  /// - Throws: `page.certificate`.
  public static func facts(of tls: PageSettings.TLS, at now: WallTime) throws(PageError) -> CertificateFacts {
    let certificate = try parsed(tls, try read(tls.certificate), try read(tls.key))
    let seconds = Int(now.seconds)
    return CertificateFacts(
      expires: certificate.expires, isInvalid: seconds < certificate.begins || seconds >= certificate.expires,
      isSelfSigned: certificate.isSelfSigned)
  }

  private static func read(_ path: String) throws(PageError) -> [UInt8] {
    do throws(WholeFile.ReadError) { return try WholeFile.read(path, atMost: largestFile) } catch {
      throw PageError(.certificate, "can't read \(path.onOneLine): \(error.reason)", hint: error.hint)
    }
  }

  private static func parsed(
    _ tls: PageSettings.TLS, _ certificate: [UInt8], _ key: [UInt8]
  ) throws(PageError) -> Certificate {
    do throws(Certificate.Fault) { return try Certificate(pem: certificate, key: key) } catch {
      let (certificate, key) = (tls.certificate.onOneLine, tls.key.onOneLine)
      let message =
        switch error {
        case .noCertificate: "\(certificate) holds no certificate in PEM"
        case .noKey: "\(key) holds no private key in PEM without a password"
        case .otherKey: "the key in \(key) is not that of the certificate in \(certificate)"
        }
      throw PageError(.certificate, message)
    }
  }

  /// Returns the reason why the server could not listen now; nil if it could.
  public static func listenFailure(_ settings: PageSettings) -> (any CodedError)? {
    do throws(WebError) { try WebServer.probe(settings.listen) } catch { return error }
    return nil
  }

}

extension PageSettings {
  /// The address in a browser: on all interfaces, the name of this machine.
  public var url: String {
    let host =
      listen.address.isAny
      ? names.first.map { NetworkAddress($0)?.inURL ?? $0 } ?? Machine.hostName.map {
        "\($0.prefix { $0 != "." }).local"
      } ?? "localhost"
      : listen.address.inURL
    return "\(tls == nil ? "http" : "https")://\(host):\(listen.port)"
  }
}
