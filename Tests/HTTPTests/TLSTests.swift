import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("TLS", .waiting)
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
