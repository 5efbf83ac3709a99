import EventLoop
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("TLS", .waiting, .tags(.http, .error))
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
  @Test("credentials go no further than TLS: a redirect to http on the same host and port drops them")
  func redirectWithoutTLS() throws {
    let (station, server, network) = (try Station(), try SecureServer(sendsFiles: true), try NetworkThread())
    station.answer("/b", with: .page("b"))
    let proxy = try CuttingProxy(to: station.port, first: UInt16(server.port))
    let root = "localhost:\(proxy.port)"
    let answer = "HTTP/1.0 302 Found\r\nLocation: http://\(root)/b\r\n\r\n"
    _ = try server.folder.write(Array(answer.utf8), to: "a")
    let moved = try network.get("https://\(root)/a") {
      $0.certificateFile = server.certificate
      $0.credentials = HTTPCredentials(user: "jane", password: "secret")
    }
    #expect(moved.text == "b" && moved.heads.first?.url == "http://\(root)/b")
    #expect(station.visits.map { $0["Authorization"] } == [nil])
    // The same request of the station itself has them.
    _ = try network.get("http://\(root)/b") {
      $0.credentials = HTTPCredentials(user: "jane", password: "secret")
    }
    #expect(station.visits.last?["Authorization"] != nil)
  }
}
