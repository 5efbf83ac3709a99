import EventLoop
import Glibc
import TestTraits
import Testing

private enum OvenErrorKind: String, FailureKind {
  case cold = "oven.cold"
  case burnt = "oven.burnt"

  var hint: String? { self == .cold ? "turn it on" : nil }
  var facts: [ErrorFact] { self == .burnt ? [ErrorFact("door", .string("closed"))] : [] }
}

private typealias OvenError = Failure<OvenErrorKind>

@Suite("Failures", .tags(.error)) struct FailureTests {
  private func bake(_ error: OvenError) throws(OvenError) { throw error }

  @Test("have the code of their kind, and its hint unless they have one") func hint() {
    let (cold, own) = (OvenError(.cold, "no bread"), OvenError(.cold, "no bread", hint: "wait"))
    #expect(cold.code == "oven.cold" && cold.hint == "turn it on" && own.hint == "wait")
    #expect(cold != own && OvenError(.burnt, "no bread").hint == nil)
    #expect("\(cold)" == "no bread (oven.cold); turn it on")
  }

  @Test("have the facts of their kind behind their own") func facts() {
    let error = OvenError(.burnt, "black bread", facts: [ErrorFact("minutes", .int(90))])
    #expect(error.facts.map(\.name) == ["minutes", "door"])
    #expect(error.fact("minutes") == .int(90) && error.fact("flour") == nil)
  }

  @Test("are thrown as their type and caught by their kind") func thrown() {
    do throws(OvenError) {
      try bake(OvenError(.burnt, "black bread"))
      Issue.record("nothing was thrown")
    } catch { #expect(error.kind == .burnt) }
    do { try bake(OvenError(.cold, "no bread")) as Void } catch let error as any CodedError {
      #expect(error.code == "oven.cold")
    }
  }

  @Test("of system calls have the system's text") func system() {
    #expect(SystemError(ENOENT).text == "No such file or directory" && SystemError(ENOENT).number == ENOENT)
  }
}
