import EventLoop
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

extension StreamMachineTests {
  // MARK: The connection

  @Test("a connection that is lost changes the status of a player that is not paused")
  func loses() throws {
    let statuses = try all().map { before in
      var machine = before
      #expect(words(machine.failed(lost)) == ["emit failed stream.network"])
      #expect(machine.phase == before.phase && machine.reception == .connecting)
      #expect(words(machine.connecting()) == ["emit connecting"])
      // A station that refuses fails at once, again and again.
      _ = machine.failed(lost)
      #expect(words(machine.connecting()) == ["emit connecting"])
      return machine.status
    }
    #expect(statuses == [.stopped, .stopped, .connecting, .connecting, .connecting, .paused])
  }

  @Test("sound that comes again is announced with the status that the player has then")
  func reconnects() throws {
    func reconnected(_ before: StreamMachine, isFilling: Bool) -> (StreamMachine, [String]) {
      var machine = before
      _ = machine.failed(lost)
      _ = machine.connecting()
      return (
        machine,
        words(machine.reconnected(gap: 0, stitched: true, overlap: 3, isFilling: isFilling))
      )
    }
    #expect(reconnected(try playing(), isFilling: false).1 == ["emit reconnected", "announce playing"])
    #expect(reconnected(try playing(), isFilling: true).1 == ["emit reconnected", "announce buffering"])
    #expect(reconnected(try paused(), isFilling: false).1 == ["emit reconnected", "announce paused"])
    #expect(reconnected(try filling(), isFilling: true).1 == ["emit reconnected"])
    #expect(reconnected(recorded(), isFilling: true).1 == ["emit reconnected"])
    var machine = try playing()
    _ = machine.connecting()
    _ = machine.answered(StationInfo())
    #expect(machine.phase == .playing(.connecting), "an answer is no sound that joins")
    _ = machine.reconnected(gap: 0, stitched: true, overlap: 3, isFilling: false)
    #expect(machine.phase == .playing(.flowing) && machine.reception == .receiving)
  }

  @Test("a player that gets enough before the join is reported announces it once")
  func announcesOnce() throws {
    var machine = try playing()
    _ = machine.connecting()
    #expect(words(machine.buffered(isFilling: false)) == ["run", "announce playing", "end starts"])
    #expect(words(machine.buffered(isFilling: false)) == ["run", "end starts"])
    #expect(machine.buffered(isFilling: true).isEmpty, "the position was moved since")
  }

  @Test(
    "a player that resumes after a pause while there is no connection waits for one",
    arguments: [false, true])
  func resumesWithout(isFilling: Bool) throws {
    var machine = try paused()
    _ = machine.failed(lost)
    _ = machine.connecting()
    let begin = ["pause timer off", "do not keep unheard"]
    #expect(
      words(machine.resume(isFilling: isFilling)) == begin + (isFilling ? [] : ["run", "emit started"]))
    #expect(machine.status == .connecting)
  }

  @Test("a full buffer ends the reception only without a listener and a recording")
  func full() throws {
    var machine = try playing()
    #expect(words(machine.full(isRecorded: false)) == ["restart"])
    #expect(machine.reception == .connecting)
    _ = machine.suspend(true)
    #expect(machine.full(isRecorded: false).isEmpty && machine.reception == .full)
    #expect(
      words(machine.suspend(false)) == [
        "pause timer off", "do not keep unheard", "restart", "watch read out",
      ])
    machine = try paused()
    #expect(machine.full(isRecorded: false).isEmpty)
    #expect(words(machine.resume(isFilling: false)).contains("restart"))
    machine = try paused()
    #expect(words(machine.full(isRecorded: true)) == ["restart"])
    _ = machine.full(isRecorded: false)
    #expect(words(machine.restart()) == ["restart"] && machine.restart().isEmpty)
    var stopped = recorded()
    #expect(words(stopped.full(isRecorded: true)) == ["restart"])
  }

  // MARK: The player

  @Test(
    "a player that runs dry halts, has the receiver writeNow, and fills; so does one that leaves the buffer")
  func runsDry() throws {
    var machine = try playing()
    #expect(
      words(machine.ranDry()) == ["halt", "report dry", "emit queue exhausted", "announce buffering"])
    #expect(machine.phase == .playing(.filling))
    #expect(words(machine.ranDry()) == ["halt", "report dry", "emit queue exhausted"])
    _ = machine.failed(lost)
    #expect(words(machine.connecting()) == ["emit connecting"])
    #expect(machine.status == .connecting, "there is no connection that could fill it")
    machine = try playing()
    _ = machine.failed(lost)
    _ = machine.connecting()
    #expect(machine.status == .connecting)
    #expect(words(machine.ranDry()) == ["halt", "report dry", "emit queue exhausted"])
    #expect(words(machine.connecting()) == ["emit connecting"] && machine.status == .connecting)
    #expect(machine.leftBuffer().isEmpty && machine.status == .connecting)
    var joined = machine
    _ = joined.reconnected(gap: 0, stitched: true, overlap: 3, isFilling: true)
    #expect(joined.status == .buffering)
    #expect(words(machine.buffered(isFilling: false)) == ["run", "announce playing", "end starts"])
    machine = try playing()
    #expect(words(machine.leftBuffer()) == ["emit buffering"] && machine.phase == .playing(.filling))
    for before in [StreamMachine(), try connecting(), try filling()] {
      var machine = before
      #expect(machine.ranDry().isEmpty)
    }
  }

  // MARK: Files

  @Test("a file that was heard ends, once no frame follows")
  func finishes() throws {
    for before in [try playing(), try paused()] {
      var machine = before
      #expect(machine.finish(isComplete: false).isEmpty)
      #expect(words(machine.finish(isComplete: true)) == ["end starts", "emit file complete", "stop"])
    }
    var machine = try filling()
    #expect(machine.finish(isComplete: true).isEmpty)
  }

  private func listed(_ names: String...) -> [ListedAddress] {
    names.map { ListedAddress(address: StreamAddress(stringLiteral: "http://a.example/\($0)"), depth: 1) }
  }

  @Test("the files of a list are played in turn, also where one of them fails")
  func list() throws {
    var machine = try playing()
    machine.received(FileFacts())
    let rest = listed("b", "c")
    #expect(words(machine.received(rest)) == ["follow buffer"])
    #expect(words(machine.finish(isComplete: true)) == ["emit file complete", "play next"])
    let next = ["leave player", "disconnect", "connect and play"]
    #expect(words(machine.playNext()) == next)
    #expect(machine.files?.current == listed("b").first && machine.files?.rest.count == 1)
    #expect(machine.status == .connecting && machine.reception == .none)
    machine.connect(plays: true)
    #expect(words(machine.gaveUp(lost)) == next)
    #expect(machine.files?.current == listed("c").first)
    machine.connect(plays: true)
    #expect(machine.playNext().isEmpty)
    #expect(words(machine.gaveUp(lost)).contains("emit stopped") && machine.files == nil)
  }

  @Test("the next address leaves the files of a list behind")
  func nextAfterList() throws {
    for playsSecond in [false, true] {
      var machine = try playing()
      _ = machine.received(listed("b", "c"))
      if playsSecond {
        _ = machine.playNext()
        machine.connect(plays: true)
      }
      _ = machine.connectToNext()
      #expect(machine.files == nil)
      machine.connect(plays: true)
      #expect(!words(machine.gaveUp(lost)).contains("leave player") || machine.status == .stopped)
    }
  }

  @Test("a list in a list is played in place of its entry")
  func listInList() throws {
    var machine = try playing()
    let urls = listed("b", "c")
    _ = machine.received(urls)
    _ = machine.playNext()
    _ = machine.received(listed("b2"))
    #expect(machine.files?.current == listed("b").first && machine.files?.rest == listed("b2", "c"))
  }

  @Test("a live stream that turns out to be a file completes its sound and its recordings")
  func completes() throws {
    var machine = try playing()
    #expect(words(machine.complete()) == ["finish recordings", "complete sound"])
    machine = recorded()
    #expect(words(machine.complete()) == ["finish recordings", "disconnect"])
    #expect(machine.reception == .none)
  }

  @Test("a stream that turns out to be for recordings only stops playing, and is recorded on")
  func unplayable() throws {
    var machine = try filling()
    machine.add(PendingCall<Void>())
    #expect(machine.received(pcm, isRecorded: false).isEmpty, "its receiver fails it")
    #expect(
      words(machine.received(pcm, isRecorded: true))
        == ["emit failed stream.unsupported", "stop", "fail 1 stream.unsupported"])
    #expect(machine.waiters.isEmpty)
    machine = try filling()
    #expect(
      words(machine.copying()) == ["emit failed stream.unsupported", "stop", "fail 0 stream.unsupported"])
  }
}
