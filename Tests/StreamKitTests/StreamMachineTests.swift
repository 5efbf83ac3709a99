import Codecs
import EventLoop
import TestTraits
import Testing

@testable import Playback
@testable import Reception
@testable import StreamCore

@Suite("The rules of a stream, without receiver, buffer and clock", .tags(.stream, .playback))
struct StreamMachineTests {
  let mp3 = StreamFormat(codec: .mp3, sampleRate: 44_100, channels: 2)
  let pcm = StreamFormat(codec: .pcm, sampleRate: 44_100, channels: 2)
  let lost = StreamError(.network, "lost")

  // MARK: Machines in each phase

  func connecting() throws -> StreamMachine {
    var machine = StreamMachine()
    #expect(words(try machine.start(hasNext: false, isFilling: true)) == ["connect and play"])
    machine.reset(StreamContent(origin: .server("http://a.example/live")))
    machine.connect(plays: true)
    return machine
  }

  func filling() throws -> StreamMachine {
    var machine = try connecting()
    #expect(words(machine.answered(StationInfo())) == ["emit buffering"])
    _ = machine.received(mp3, isRecorded: false)
    return machine
  }

  func playing() throws -> StreamMachine {
    var machine = try filling()
    #expect(
      words(machine.buffered(isFilling: false)) == [
        "begin position", "run", "announce playing", "end starts",
      ])
    return machine
  }

  func paused() throws -> StreamMachine {
    var machine = try playing()
    #expect(
      words(machine.pause()) == ["halt", "pass heard", "keep unheard", "pause timer", "emit paused"])
    return machine
  }

  /// A machine that is received for a recording only.
  func recorded() -> StreamMachine {
    var machine = StreamMachine()
    machine.reset(StreamContent(origin: .server("http://a.example/live")))
    machine.connect(plays: false)
    return machine
  }

  func all() throws -> [StreamMachine] {
    [StreamMachine(), recorded(), try connecting(), try filling(), try playing(), try paused()]
  }

  /// The actions that end playing and receiving.
  let closing = ["complete buffer", "leave player", "forget listener", "disconnect", "adopt next"]

  // MARK: Start

  @Test("a start connects, fills and plays; the status is the new one before its event is emitted")
  func starts() throws {
    #expect(StreamMachine().status == .stopped && StreamMachine().reception == .none)
    let machines = [try connecting(), try filling(), try playing(), try paused()]
    #expect(machines.map(\.status) == [.connecting, .buffering, .playing, .paused])
    #expect(machines.map(\.hasPosition) == [false, false, true, true])
    #expect(machines.map(\.isPlaying) == [false, false, true, false])
    #expect(
      machines.map(\.reception) == [.connecting, .receiving, .receiving, .receiving])
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
    local.reset(StreamContent(origin: .file("/a.wav")))
    #expect(local.received(pcm, isRecorded: true).isEmpty && local.content.unplayable == nil)
  }

  // MARK: Waiting starts

  @Test("calls of start end when it plays, when it stops, and with the error when it fails")
  func waiters() throws {
    var machine = try filling()
    machine.add(PendingCall<Void>())
    #expect(words(machine.buffered(isFilling: false)).last == "end starts")
    #expect(machine.takeWaiters().count == 1 && machine.waiters.isEmpty)

    machine = try filling()
    machine.add(PendingCall<Void>())
    #expect(words(machine.stop(isRecorded: false)).last == "end starts CancellationError")

    machine = try filling()
    machine.add(PendingCall<Void>())
    #expect(words(machine.gaveUp(lost)).last == "fail 1 stream.network")
    #expect(machine.waiters.isEmpty, "a stop that a listener calls meanwhile must not cancel it")
  }

  @Test("the last call of start that is cancelled stops the stream")
  func cancelledStart() throws {
    var machine = try filling()
    let (first, second) = (PendingCall<Void>(), PendingCall<Void>())
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
  func failsReceiving() throws {
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

  @Test("the longest pause stops a station; a file stays where it is")
  func longestPause() throws {
    var machine = try paused()
    #expect(words(machine.pauseEnded(isRecorded: false)).contains("emit stopped"))
    #expect(machine.phase == .stopped)
    machine = try paused()
    machine.received(FileFacts())
    #expect(words(machine.pauseEnded(isRecorded: false)) == ["rest"] && machine.phase == .paused)
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
}
