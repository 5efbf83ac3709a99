import EventLoop
import Glibc
import HTTP
import TestSupport
import TestTraits
import Testing

@Suite("Proxies", .waiting, .tags(.http))
struct ProxyTests {
  // The environment is one per process, so these tests have processes of their own.

  @Test("the environment's proxy is asked for the whole URL")
  func proxy() async {
    await #expect(processExitsWith: .success) {
      let proxy = try Station()
      proxy.answer("/live", with: .page("through the proxy"))
      setenv("http_proxy", proxy.url("/"), 1)
      let network = try NetworkThread()
      let recording = try network.get("http://radio.test:8000/live")
      #expect(recording.text == "through the proxy")
      #expect(recording.heads.first?.url == "http://radio.test:8000/live")
      #expect(proxy.visits.map(\.target) == ["http://radio.test:8000/live"])
      proxy.refuse()
      #expect(try network.failure("http://radio.test:8000/live")?.kind == .refused)
    }
  }

  @Test("hosts in no_proxy are asked themselves")
  func exception() async {
    await #expect(processExitsWith: .success) {
      let station = try Station()
      station.answer("/live", with: .page("itself"))
      setenv("http_proxy", "http://127.0.0.1:9/", 1)
      setenv("no_proxy", "127.0.0.1", 1)
      let network = try NetworkThread()
      let recording = try network.get(station.url("/live"))
      #expect(recording.text == "itself")
      #expect(station.visits.map(\.target) == ["/live"])
    }
  }
}
