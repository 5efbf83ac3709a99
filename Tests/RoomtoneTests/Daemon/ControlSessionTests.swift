import JSONText
import TestTraits
import Testing

@testable import Roomtone

@Suite(.tags(.control)) struct ControlSessionTests {
  /// A session whose requests are answered with their own parameters, and what was written to the client.
  private struct Client {
    var session = ControlSession()
    var open: [Int] = []
    var cancelled: [Int] = []
    var isClosed = false

    mutating func send(_ text: String, answers: Bool = true) {
      perform(session.received(Array(text.utf8)), answers)
    }

    mutating func perform(_ actions: [ControlSession.Action], _ answers: Bool = true) {
      for action in actions {
        switch action {
        case .perform(let number, let request):
          if answers {
            perform(session.finished(number, .success(request.parameters)))
          } else {
            open.append(number)
          }
        case .cancel(let numbers): cancelled += numbers
        case .close: isClosed = true
        }
      }
    }

    /// Returns the lines of the output, and empties it.
    mutating func read() -> [JSON] {
      let lines = session.output.split(separator: UInt8(ascii: "\n")).map { JSON(parsing: $0) ?? .null }
      perform(session.wrote(session.output.count))
      return lines
    }
  }

  private static let request = #"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}"# + "\n"

  @Test("a request is answered with its id, however it was cut")
  func split() {
    for size in [1, 7, 1000] {
      var client = Client()
      var rest = (Self.request + Self.request)[...]
      while !rest.isEmpty {
        client.send(String(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      let answers = client.read()
      #expect(
        answers.map(\.line) == Array(repeating: #"{"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}"#, count: 2)
      )
    }
  }

  @Test("answers may come in another order than requests")
  func interleaved() {
    var client = Client()
    client.send(#"{"jsonrpc":"2.0","id":"a","method":"x"}"# + "\n", answers: false)
    client.send(#"{"jsonrpc":"2.0","id":"b","method":"x"}"# + "\n", answers: false)
    for number in client.open.reversed() { client.perform(client.session.finished(number, .success(true))) }
    #expect(client.read().map { $0["id"]?.text } == ["b", "a"])
  }

  @Test(
    "what is no request is answered with the number of the error",
    arguments: [
      ("{", -32700), ("[]", -32600), ("7", -32600), (#"{"id":1,"method":"x"}"#, -32600),
      (#"{"jsonrpc":"2.0","id":1}"#, -32600), (#"{"jsonrpc":"2.0","id":[],"method":"x"}"#, -32600),
      (#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#, -32602),
      ("[" + Array(repeating: "1", count: 101).joined(separator: ",") + "]", -32600),
      (String(repeating: "[", count: 500_000), -32700),
    ])
  func malformed(text: String, number: Int) {
    var client = Client()
    client.send(text + "\n" + Self.request)
    let answers = client.read()
    #expect(answers.count == 2 && answers[0]["error"]?["code"]?.int == number, "\(answers)")
    #expect(answers.last?["result"] != nil && !client.isClosed)
  }

  @Test("a batch is answered on one line when its last request is; one of notifications is not answered")
  func batch() {
    var client = Client()
    let notification = #"{"jsonrpc":"2.0","method":"x"}"#
    client.send("[\(notification)]\n\(notification)\n \n")
    #expect(client.read().isEmpty)
    client.send(
      #"[{"jsonrpc":"2.0","id":1,"method":"x"},7,{"jsonrpc":"2.0","method":"x"}]"# + "\n", answers: false)
    #expect(client.session.output.isEmpty)
    for number in client.open { client.perform(client.session.finished(number, .success(true))) }
    let answers = client.read()
    #expect(answers.count == 1 && answers.first?.elements?.count == 2)
  }

  @Test("a request of more than a mebibyte is refused before its end, and the connection closes")
  func tooLong() {
    var client = Client()
    client.send(String(repeating: "x", count: ControlSession.longestRequest))
    #expect(client.session.output.isEmpty)
    client.send("x")
    client.send(Self.request)
    #expect(client.read().map { $0["error"]?["code"]?.int } == [-32600])
    #expect(client.isClosed)
  }

  @Test("a client that does not read is dropped at a mebibyte, and its requests are cancelled")
  func backlog() {
    var client = Client()
    client.send(Self.request, answers: false)
    let text = JSON.string(String(repeating: "x", count: 100_000))
    for _ in 0..<10 { client.perform(client.session.notify("log", text)) }
    #expect(!client.isClosed)
    client.perform(client.session.notify("log", text))
    #expect(client.isClosed && client.cancelled == client.open && client.session.output.isEmpty)
    client.perform(client.session.finished(client.open[0], .success(true)))
    #expect(client.session.output.isEmpty)
  }

  @Test("an answer of the longest length is sent; one byte more is an error for its own request")
  func longAnswer() {
    let frame = RPCAnswer.result(.string(""), id: .number(1)).line.utf8.count
    for (more, isSent) in [(0, true), (1, false), (64, false), (100_000, false)] {
      var client = Client()
      client.send(Self.request, answers: false)
      let text = String(repeating: "x", count: ControlSession.longestAnswer - frame + more)
      client.perform(client.session.finished(client.open[0], .success(.string(text))))
      let answer = client.read().first
      #expect(answer?["id"]?.int == 1 && !client.isClosed, "\(more)")
      #expect((answer?["result"] != nil) == isSent && (answer?["error"] == nil) == isSent, "\(more)")
    }
  }

  @Test("a client that does not read is dropped at the first byte above a mebibyte")
  func exactBacklog() {
    let frame = RPCAnswer.notification("log", .string("")).line.utf8.count + 1
    let half = ControlSession.longestBacklog / 2
    for (more, isDropped) in [(0, false), (1, true)] {
      var client = Client()
      for count in [half, half + more] {
        client.perform(client.session.notify("log", .string(String(repeating: "x", count: count - frame))))
      }
      #expect(client.isClosed == isDropped, "\(more)")
    }
  }

  @Test("a client that ends its input is answered, then the connection closes")
  func halfClosed() {
    var client = Client()
    client.send(Self.request, answers: false)
    client.perform(client.session.inputEnded())
    #expect(!client.isClosed)
    client.perform(client.session.finished(client.open[0], .success(true)))
    #expect(!client.isClosed && client.read().count == 1)
    #expect(client.isClosed)
  }

  @Test("requests that nobody waits for any more are cancelled; too many at once are refused")
  func manyCalls() {
    var client = Client()
    for _ in 0...ControlSession.mostCalls { client.send(Self.request, answers: false) }
    #expect(client.open.count == ControlSession.mostCalls)
    #expect(client.read().map { $0["error"]?["code"]?.int } == [-32600])
    client.perform(client.session.disconnected())
    #expect(client.isClosed && client.cancelled.count == ControlSession.mostCalls)
  }
}
