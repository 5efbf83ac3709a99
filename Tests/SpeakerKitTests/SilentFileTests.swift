import AudioCore
import EventLoop
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import SpeakerKit

/// A sound whose file system stops to answer after some frames, until it is released.
final class SilentSound: SoundSource {
  let frames: Int
  let isReleased = Atomic(false)

  init(frames: Int) { self.frames = frames }

  func makeDecoder() throws -> any Decoder { SilentDecoder(self) }
}

private final class SilentDecoder: Decoder {
  let format = AudioFormat.session
  let frameCount: Int? = nil
  private let sound: SilentSound
  private var position = 0

  init(_ sound: SilentSound) { self.sound = sound }

  func read(into buffer: UnsafeMutableBufferPointer<Float>) throws -> Int {
    let count = min(buffer.count / 2, sound.frames - position)
    while count == 0, !sound.isReleased.load(ordering: .relaxed) { TestThread.yield() }
    for sample in 0..<2 * count { buffer[sample] = 0.25 }
    position += count
    return count
  }

  func seek(toFrame frame: Int) throws {}
}

@Suite("files that stop to answer", .waiting, .tags(.speaker, .files))
struct SilentFileTests {
  @Test("a source ends with the failure, and its thread is left behind", arguments: [0, 4800, 48_000])
  func givesUp(frames: Int) throws {
    let loop = EventLoop()
    let sound = SilentSound(frames: frames)
    let ahead = DecodeAhead(SourceRequest(sound, name: "/mnt/nas/a.mp3"), cue: 1, format: .session)
    let opened = Lock<[String?]>([])
    let ends = Atomic(0)
    let thread = try DecodeThread(ahead, on: loop, renderer: Waiter(), limit: .milliseconds(200)) { error in
      opened.withLock { $0.append((error as? any CodedError)?.code) }
    } onEnd: {
      ends.add(1, ordering: .relaxed)
      loop.post {}
    }
    let hold = loop.hold("the source ends")
    _ = loop.run(until: { ends.load(ordering: .relaxed) == 1 })
    hold.release()
    #expect(ahead.isComplete)
    #expect(ahead.failure?.code == "audio.unreadable")
    #expect(ahead.failure?.message == "cannot read /mnt/nas/a.mp3: no answer within 10 s from its disk")
    // The opening reads 200 ms.
    #expect(opened.withLock { $0 } == [frames < 9600 ? "audio.unreadable" : nil])
    thread.join()
    sound.isReleased.store(true, ordering: .relaxed)
    loop.close()
    #expect(ends.load(ordering: .relaxed) == 1)
  }
}
