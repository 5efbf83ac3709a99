import TestSupport
import TestTraits
import Testing

@Suite("a recording, and a disk that fails", .waiting, .tags(.recording))
struct DiskTests {
  /// Runs the script of a case on a small file system, then players on the recorded file.
  /// - Returns: the output of the script and the players; nil where namespaces are not permitted.
  private func record(_ script: String, in place: String) throws -> Outcome? {
    guard try Command.run("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).status == 0 else {
      print("not tested: unshare -m with a tmpfs is not permitted here")
      return nil
    }
    let station = try Station()
    let frames = Array(try readBytes(Fixtures.path("mp3-without-tag.mp3")))
    var live = Live(.init(repeating: frames, bytesPerSecond: 16_000, titles: [.init("A - B", at: 0)]))
    live.metaint = 8_000
    live.pace = .realTime(10)
    station.answer("/live", with: .live(live))
    let home = try Home()
    let name = try home.script(
      """
      local stream, task, recordings = require "stream", require "task", require "recordings"
      local radio = stream.new "\(station.url("/live"))"
      local function verify(recording)
        local verdict = recordings.verify(recording.path)
        print(verdict.good, verdict.seconds > 1, recordings.list()[1].state)
      end
      \(script)
      """)
    let check = "ffmpeg -v error -i /mnt/radio/a.mp3 -f null - 2>&1; mpg123 -q -t /mnt/radio/a.mp3 2>&1"
    return try home.runInShell(
      "unshare -m sh -c 'mount -t tmpfs -o size=300k none /mnt && mkdir /mnt/radio && \(place)"
        + "\"$ROOMTONE\" run \(name) && { \(check); } ; true'")
  }

  @Test("a full disk is reported, the recorded part can be played, and the stream continues")
  func full() throws {
    let outcome = try record(
      """
      radio:start()
      local recording = radio:record "/mnt/radio/a.mp3"
      local event = recording:wait("recording_stopped", "50s")
      print(event.error.code, event.error.hint ~= nil, recording.state, radio.is_playing)
      verify(recording)
      print(select(2, task.try(recording.stop, recording)).code)
      radio:stop()
      """, in: "")
    guard let outcome else { return }
    #expect(
      outcome.lines == [
        "record.disk_full\ttrue\tfailed\ttrue", "true\ttrue\tfailed", "record.disk_full",
      ], "\(outcome)")
  }

  @Test("recording resumes in a new file when there is room again, if that is asked for")
  func resumes() throws {
    let outcome = try record(
      """
      local recording = radio:record("/mnt/radio/a.mp3", { resume_when_space = true })
      local event = recording:wait("recording_stopped", "50s")
      print(event.error.code, recording.state, radio.status)
      local goes_on = task.spawn(recording.wait, recording, "track", "50s")
      print(os.execute "mount -o remount,size=64m /mnt")
      local track = goes_on:await()
      print(track.path, recording.state)
      task.sleep(2)
      recording:stop()
      print(recordings.verify("/mnt/radio/a.mp3").good, recordings.verify(track.path).good)
      -- What the disk had no room for is missing between the two.
      local first, second = recordings.list()[2], recordings.list()[1]
      local gap = recording.gaps[1]
      print(#recording.gaps, gap.seconds > 1, math.abs(gap.at - first.seconds) < 0.1)
      print(#first.gaps, #second.gaps, second.gaps[1].at, second.gaps[1].seconds == gap.seconds)
      """, in: "")
    guard let outcome else { return }
    #expect(
      outcome.lines == [
        "record.disk_full\twaiting\tstopped", "true\texit\t0", "/mnt/radio/a (2).mp3\trecording",
        "true\ttrue", "1\ttrue\ttrue", "0\t1\t0.0\ttrue",
      ], "\(outcome)")
  }

  @Test("room that is to stay free stays free")
  func minimum() throws {
    let outcome = try record(
      """
      local _, err = task.try(radio.record, radio, "/mnt/radio/a.mp3", { min_free = "1GB" })
      print(err.code, #recordings.list())
      """, in: "")
    guard let outcome else { return }
    #expect(outcome.lines.first == "record.disk_full\t0", "\(outcome)")
  }

  @Test("a removed folder is reported, and the next recording makes it anew")
  func removed() throws {
    let outcome = try record(
      """
      local recording = radio:record "/mnt/radio/b.mp3"
      -- Listened to first: the program may take longer to end than the disk thread to notice.
      local stopped = task.spawn(recording.wait, recording, "recording_stopped", "50s")
      os.execute "rm -r /mnt/radio"
      local event = stopped:await()
      print(event.error.code, recording.state)
      local again = radio:record "/mnt/radio/a.mp3"
      task.sleep(1)
      again:stop()
      verify(again)
      """, in: "")
    guard let outcome else { return }
    #expect(outcome.lines == ["record.write\tfailed", "true\ttrue\tfinished"], "\(outcome)")
  }

  @Test("a disk that can't be written to is reported at once, and the stream is released")
  func readOnly() throws {
    let outcome = try record(
      """
      local _, err = task.try(radio.record, radio, "/mnt/radio/a.mp3")
      print(err.code, err.message:match "read%-only" ~= nil, radio.status, #recordings.list())
      """, in: "mount -o remount,ro /mnt && ")
    guard let outcome else { return }
    #expect(outcome.lines.first == "record.write\ttrue\tstopped\t0", "\(outcome)")
  }
}
