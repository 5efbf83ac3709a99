import EventLoop
import Testing

@testable import StreamKit

private let mp3 = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)
private let pcm = StreamFormat(codec: .pcm, sampleRate: 44_100, channels: 2)
private let lost = StreamError(.network, "lost")

@Suite("The rules of a stream, without receiver, buffer and clock") struct StreamMachineTests {
  // MARK: Machines in each phase

  private func connecting() throws -> StreamMachine {
    var machine = StreamMachine()
    #expect(words(try machine.start(hasNext: false, isFilling: true)) == ["connect and play"])
    machine.reset(StreamContent(url: "http://a.example/live"))
    machine.connect(plays: true)
    return machine
  }

  private func filling() throws -> StreamMachine {
    var machine = try connecting()
    #expect(words(machine.answered(StationInfo())) == ["emit buffering"])
    _ = machine.received(mp3, isRecorded: false)
    return machine
  }

  private func playing() throws -> StreamMachine {
    var machine = try filling()
    #expect(
      words(machine.buffered(isFilling: false)) == [
        "begin position", "run", "announce playing", "end starts",
      ])
    return machine
  }

  private func paused() throws -> StreamMachine {
    var machine = try playing()
    #expect(
      words(machine.pause()) == ["halt", "pass heard", "keep unheard", "pause timer", "emit paused"])
    return machine
  }

  /// A machine that is received for a recording only.
  private func recorded() -> StreamMachine {
    var machine = StreamMachine()
    machine.reset(StreamContent(url: "http://a.example/live"))
    machine.connect(plays: false)
    return machine
  }

  private func all() throws -> [StreamMachine] {
    [StreamMachine(), recorded(), try connecting(), try filling(), try playing(), try paused()]
  }

  /// The actions that end playing and receiving.
  private let closing = ["complete buffer", "leave player", "forget listener", "disconnect", "adopt next"]

  // MARK: Start

  @Test("a start connects, fills and plays; the status is the new one before its event is emitted")
  func starts() throws {
    #expect(StreamMachine().status == .stopped && StreamMachine().reception == .none)
    let machines = [try connecting(), try filling(), try playing(), try paused()]
    #expect(machines.map(\.status) == [.connecting, .buffering, .playing, .paused])
    #expect(machines.map(\.hasPosition) == [false, false, true, true])
    #expect(machines.map(\.isPlaying) == [false, false, true, false])
    #expect(machines.map(\.reception) == [.connecting, .receiving, .receiving, .receiving])
  }

  @Test("a start of a stream that is on its way, or plays, does nothing")
  func startsTwice() throws {
    for before in [try connecting(), try filling(), try playing()] {
      var machine = before
      #expect(try machine.start(hasNext: false, isFilling: false).isEmpty)
      #expect(machine.phase == before.phase)
    }
  }

  @Test("a start after another address was set leaves the sound that plays, and that of recordings")
  func startsNext() throws {
    for before in [try connecting(), try filling(), try playing(), try paused()] {
      var machine = before
      let actions = words(try machine.start(hasNext: true, isFilling: false))
      #expect(
        actions == ["finish recordings", "leave player", "disconnect", "adopt next", "connect and play"])
      #expect(machine.status == .connecting && machine.reception == .none && !machine.hasPosition)
    }
    var machine = recorded()
    let actions = try machine.start(hasNext: true, isFilling: true)
    #expect(words(actions) == ["finish recordings", "disconnect", "adopt next", "connect and play"])
    #expect(machine.phase == .stopped, "it is stopped until a receiver begins")
  }

  @Test("a stream that is recorded is played from the same connection, and fills if its sound comes")
  func playsRecorded() throws {
    var early = recorded()
    #expect(words(try early.start(hasNext: false, isFilling: true)) == ["play received"])
    #expect(early.phase == .connecting)
    var late = recorded()
    _ = late.answered(StationInfo())
    #expect(late.phase == .stopped, "nobody plays it")
    _ = late.received(mp3, isRecorded: true)
    #expect(words(try late.start(hasNext: false, isFilling: true)) == ["play received", "emit buffering"])
    #expect(late.phase == .filling && late.reception == .receiving)
  }

  @Test("a stream that can only be recorded refuses to play; a file of this machine may have any format")
  func refuses() throws {
    var machine = recorded()
    _ = machine.received(pcm, isRecorded: true)
    let error = #expect(throws: StreamError.self) { try machine.start(hasNext: false, isFilling: true) }
    #expect(error?.kind == .unsupported && machine.phase == .stopped)
    var file = recorded()
    #expect(file.copying().isEmpty && file.content.unplayable?.kind == .unsupported)
    var local = StreamMachine()
    local.reset(StreamContent(url: "/a.wav", isLocal: true))
    #expect(local.received(pcm, isRecorded: true).isEmpty && local.content.unplayable == nil)
  }

  // MARK: Waiting starts

  @Test("calls of start end when it plays, when it stops, and with the error when it fails")
  func waiters() throws {
    var machine = try filling()
    machine.add(StartWaiter())
    #expect(words(machine.buffered(isFilling: false)).last == "end starts")
    #expect(machine.takeWaiters().count == 1 && machine.waiters.isEmpty)

    machine = try filling()
    machine.add(StartWaiter())
    #expect(words(machine.stop(isRecorded: false)).last == "end starts CancellationError")

    machine = try filling()
    machine.add(StartWaiter())
    #expect(words(machine.gaveUp(lost)).last == "fail 1 stream.network")
    #expect(machine.waiters.isEmpty, "a stop that a listener calls meanwhile must not cancel it")
  }

  @Test("the last call of start that is cancelled stops the stream")
  func givesUp() throws {
    var machine = try filling()
    let (first, second) = (StartWaiter(), StartWaiter())
    machine.add(first)
    machine.add(second)
    #expect(words(machine.giveUp(first, isRecorded: false)) == ["fail 1 CancellationError"])
    #expect(machine.giveUp(first, isRecorded: false).isEmpty && machine.status == .buffering)
    #expect(
      words(machine.giveUp(second, isRecorded: false))
        == closing + ["emit stopped", "end starts CancellationError", "fail 1 CancellationError"])
    #expect(machine.status == .stopped)
  }

  // MARK: Stop

  @Test("a stop ends the player, and the reception unless it is recorded")
  func stops() throws {
    for before in [try connecting(), try filling(), try playing(), try paused()] {
      var machine = before
      #expect(
        words(machine.stop(isRecorded: false)) == closing + ["emit stopped", "end starts CancellationError"])
      #expect(machine.phase == .stopped && machine.reception == .none)
      var other = before
      let actions = words(other.stop(isRecorded: true))
      #expect(actions == closing.dropLast(2) + ["emit stopped", "end starts CancellationError"])
      #expect(other.phase == .stopped && other.reception == before.reception)
    }
    for before in [StreamMachine(), recorded()] {
      var machine = before
      #expect(machine.stop(isRecorded: false).isEmpty)
    }
  }

  @Test("the end of the last recording ends the reception of a stream that is stopped")
  func recordingsEnd() throws {
    var machine = recorded()
    #expect(words(machine.recordingsEnded()) == ["disconnect", "adopt next"])
    #expect(machine.reception == .none)
    machine = try playing()
    #expect(machine.recordingsEnded().isEmpty && machine.reception == .receiving)
  }

  @Test("a reception that can't continue stops the player, and fails the recordings")
  func givesUpReceiving() throws {
    for before in [try connecting(), try filling(), try playing(), try paused()] {
      var machine = before
      #expect(
        words(machine.gaveUp(lost))
          == ["fail recordings stream.network"] + closing + ["emit stopped", "fail 0 stream.network"])
      #expect(machine.phase == .stopped && machine.reception == .none)
    }
    var machine = recorded()
    #expect(
      words(machine.gaveUp(lost))
        == ["fail recordings stream.network"] + closing + ["fail 0 stream.network"],
      "it was stopped, and emits no second event")
  }

  // MARK: Pause

  @Test("a pause and its end do nothing in any other phase")
  func pausesOnlyPlaying() throws {
    for before in [StreamMachine(), recorded(), try connecting(), try filling(), try paused()] {
      var machine = before
      #expect(machine.pause().isEmpty && machine.phase == before.phase)
    }
    for before in try all() where before.phase != .paused {
      var machine = before
      #expect(machine.resume(isFilling: false).isEmpty && machine.phase == before.phase)
    }
  }

  @Test("it resumes with the sound in the buffer, or fills first where that has run dry or was left")
  func resumes() throws {
    var machine = try paused()
    #expect(
      words(try machine.start(hasNext: false, isFilling: false))
        == ["pause timer off", "do not keep unheard", "run", "announce playing"])
    #expect(machine.phase == .playing(.flowing))
    machine = try paused()
    #expect(
      words(machine.resume(isFilling: true))
        == ["pause timer off", "do not keep unheard", "emit buffering"])
    #expect(machine.phase == .playing(.filling))
  }

  @Test("enough sound that comes in a pause does not end it")
  func fillsPaused() throws {
    var machine = try paused()
    #expect(machine.buffered(isFilling: false).isEmpty && machine.phase == .paused)
    #expect(machine.ranDry().isEmpty && machine.leftBuffer().isEmpty && machine.phase == .paused)
  }

  @Test("a suspension keeps the sound, and no pause ends by time meanwhile")
  func suspends() throws {
    var machine = try playing()
    #expect(words(machine.suspend(true)) == ["pause timer off", "keep unheard"])
    #expect(machine.suspend(true).isEmpty)
    #expect(words(machine.suspend(false)) == ["pause timer off", "do not keep unheard", "watch read out"])
    machine = try paused()
    #expect(words(machine.suspend(true)) == ["pause timer off", "keep unheard"])
    #expect(words(machine.suspend(false)) == ["pause timer", "keep unheard"])
    _ = machine.suspend(true)
    #expect(words(machine.resume(isFilling: true)).contains("keep unheard"))
    #expect(!words(machine.pause()).contains("pause timer"))
    _ = machine.stop(isRecorded: false)
    #expect(!machine.isSuspended)
  }

  // MARK: The connection

  @Test("a connection that is lost changes the status of a player that is not paused")
  func loses() throws {
    let statuses = try all().map { before in
      var machine = before
      #expect(words(machine.failed(lost)) == ["emit failed stream.network"])
      #expect(machine.phase == before.phase && machine.reception == .connecting)
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

  @Test("a full buffer ends the reception only while nobody hears it, and no recording needs it")
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

  @Test("a player that runs dry rests, has the receiver hurry, and fills; so does one that leaves the buffer")
  func runsDry() throws {
    var machine = try playing()
    #expect(
      words(machine.ranDry()) == ["halt", "report dry", "emit queue exhausted", "announce buffering"])
    #expect(machine.phase == .playing(.filling))
    #expect(words(machine.ranDry()) == ["halt", "report dry", "emit queue exhausted"])
    _ = machine.connecting()
    #expect(words(machine.ranDry()) == ["halt", "report dry", "emit queue exhausted"])
    #expect(machine.status == .connecting)
    #expect(words(machine.leftBuffer()) == ["emit buffering"] && machine.phase == .playing(.filling))
    #expect(words(machine.buffered(isFilling: false)) == ["run", "announce playing", "end starts"])
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

  @Test("the files of a list are played in turn, also where one of them fails")
  func list() throws {
    var machine = try playing()
    machine.received(FileFacts())
    let rest = ["b", "c"].map { ListedURL(url: "http://a.example/\($0)", depth: 1) }
    #expect(words(machine.received(rest)) == ["follow buffer"])
    #expect(words(machine.finish(isComplete: true)) == ["emit file complete", "play next"])
    let next = ["leave player", "disconnect", "connect and play"]
    #expect(words(machine.playNext()) == next)
    #expect(machine.files?.current?.url == "http://a.example/b" && machine.files?.rest.count == 1)
    #expect(machine.status == .connecting && machine.reception == .none)
    machine.connect(plays: true)
    #expect(words(machine.gaveUp(lost)) == next)
    #expect(machine.files?.current?.url == "http://a.example/c")
    machine.connect(plays: true)
    #expect(machine.playNext().isEmpty)
    #expect(words(machine.gaveUp(lost)).contains("emit stopped") && machine.files == nil)
  }

  @Test("the next address leaves the files of a list behind")
  func nextAfterList() throws {
    for playsSecond in [false, true] {
      var machine = try playing()
      _ = machine.received(["b", "c"].map { ListedURL(url: $0, depth: 1) })
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
    let urls = ["b", "c"].map { ListedURL(url: $0, depth: 1) }
    _ = machine.received(urls)
    _ = machine.playNext()
    _ = machine.received([ListedURL(url: "b2", depth: 2)])
    #expect(machine.files?.current?.url == "b" && machine.files?.rest.map(\.url) == ["b2", "c"])
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
    machine.add(StartWaiter())
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
