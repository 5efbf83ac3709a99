import TestTraits
import Testing

@testable import RTSP

@Suite("Authentication of RTSP", .tags(.stream))
struct RTSPAuthenticationTests {
  private let mufasa = RTSPCredentials(user: "Mufasa", password: "Circle Of Life")

  @Test("a digest with a quality is that of the example in RFC 2617")
  func digest() throws {
    let challenge = try #require(
      RTSPChallenge.best([
        #"Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", "#
          + #"opaque="5ccc069c403ebaf9f0171e9517f40e41""#
      ]))
    let value = try #require(
      challenge.authorization(
        mufasa, method: "GET", uri: "/dir/index.html", number: 1, clientNonce: "0a4f113b"))
    #expect(value.contains(#"response="6629fae49393a05397450978507c4ef1""#))
    #expect(value.contains("nc=00000001") && value.contains(#"opaque="5ccc069c403ebaf9f0171e9517f40e41""#))
  }

  @Test("SHA-256 is preferred, and its digest that of the example in RFC 7616")
  func sha256() throws {
    let common =
      #"realm="http-auth@example.org", qop="auth", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v""#
    let challenge = try #require(
      RTSPChallenge.best([
        "Digest \(common), algorithm=MD5", "Digest \(common), algorithm=SHA-256", "Basic realm=x",
      ]))
    let value = try #require(
      challenge.authorization(
        .init(user: "Mufasa", password: "Circle of Life"), method: "GET", uri: "/dir/index.html", number: 1,
        clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"))
    #expect(value.contains("753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"))
  }

  @Test("a digest without a quality is that of cameras")
  func old() throws {
    let challenge = try #require(RTSPChallenge.best([#"Digest realm="cam", nonce="1", stale=TRUE"#]))
    #expect(challenge.isStale)
    let value = try #require(
      challenge.authorization(
        .init(user: "a\"b", password: "c"), method: "DESCRIBE", uri: "rtsp://h/", number: 1, clientNonce: "z")
    )
    #expect(value.hasPrefix(#"Digest username="a\"b", realm="cam", nonce="1", uri="rtsp://h/", response=""#))
    #expect(!value.contains("qop"))
  }

  @Test("several challenges in one field are told apart, and the digest is preferred")
  func several() throws {
    let challenge = try #require(
      RTSPChallenge.best([#"Basic realm="a, b=c", Digest realm="d", nonce="n,1""#]))
    #expect(challenge.realm == "d")
    #expect(RTSPChallenge.best(["Negotiate", "Digest realm=x"]) == nil)
  }

  @Test("basic credentials are those of RFC 7617")
  func basic() throws {
    let challenge = try #require(RTSPChallenge.best(["Basic realm=\"x\""]))
    let value = challenge.authorization(
      .init(user: "Aladdin", password: "open sesame"), method: "PLAY", uri: "*", number: 1, clientNonce: "")
    #expect(value == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
  }
}
