import AudioCore
import Synchronization
import TestSupport
import TestTraits
import Testing

/// A command in the form that the audio thread receives.
private struct Command: BitwiseCopyable {
  var number: Int
  var gain: Float
}

/// Uses a ring in real-time code, which would not compile otherwise.
@_noLocks private func drain(_ ring: RingConsumer<Command>, _ sum: inout Int) {
  while let command = ring.pop() { sum &+= command.number }
}

@_noLocks private func report(_ ring: RingProducer<Command>, _ number: Int) -> Bool {
  ring.push(Command(number: number, gain: 1))
}

@Suite("Rings", .tags(.rendering)) struct RingTests {
  @Test("elements come out in order, and a full ring refuses") func order() {
    let ring = RingBuffer<Int>(minimumCapacity: 5)
    #expect(ring.capacity == 8)
    for round in 0..<5 {
      for number in 0..<8 { #expect(ring.producer.push(round * 8 + number)) }
      #expect(!ring.producer.push(-1))
      for number in 0..<8 { #expect(ring.consumer.pop() == round * 8 + number) }
      #expect(ring.consumer.pop() == nil)
    }
  }

  @Test("real-time code pushes and pops") func realTime() {
    let ring = RingBuffer<Command>(minimumCapacity: 4)
    #expect(report(ring.producer, 20) && report(ring.producer, 22))
    var sum = 0
    drain(ring.consumer, &sum)
    #expect(sum == 42)
  }

  @Test("between two threads nothing is lost, doubled or torn") func twoThreads() throws {
    let ring = RingBuffer<Command>(minimumCapacity: 16)
    let count = 200_000
    let producer = try TestThread {
      for number in 0..<count {
        while !ring.producer.push(Command(number: number, gain: Float(number))) { TestThread.yield() }
      }
    }
    var wrong = 0
    for number in 0..<count {
      var next = ring.consumer.pop()
      while next == nil {
        TestThread.yield()
        next = ring.consumer.pop()
      }
      if next?.number != number || next?.gain != Float(number) { wrong += 1 }
    }
    producer.join()
    #expect(wrong == 0)
    #expect(ring.consumer.pop() == nil)
  }

  @Test("frames go through a sample ring whole, also around its end") func frames() {
    let ring = SampleRing(frames: 5, channels: 2)
    let target = PCMBlock(format: .session, frames: 4)
    #expect(ring.capacity == 5)
    for round in 0..<20 {
      let value = Float(round)
      let frames = stereo([value, 1, 2], [-value, -1, -2])
      #expect(ring.writer.write(frames.view) == 3)
      #expect(ring.reader.available == 3 && ring.writer.room == 2)
      #expect(ring.reader.read(into: target.view) == 3)
      #expect(samples(target).prefix(6) == [value, -value, 1, -1, 2, -2])
    }
    let tooMany = stereo([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])
    #expect(ring.writer.write(tooMany.view) == 5)
    #expect(ring.writer.write(tooMany.view) == 0)
    #expect(ring.reader.discard(2) == 2)
    #expect(ring.reader.read(into: target.view) == 3)
    #expect(samples(target).prefix(6) == [3, 3, 4, 4, 5, 5])
    #expect(ring.reader.read(into: target.view) == 0)
  }

  @Test("between two threads every frame arrives once") func framesBetweenThreads() throws {
    let ring = SampleRing(frames: 1000, channels: 2)
    let total = 300_000
    let producer = try TestThread {
      let block = PCMBlock(format: .session, frames: 333)
      var sent = 0
      while sent < total {
        let frames = min(333, total - sent)
        for frame in 0..<frames {
          block.view.samples[2 * frame] = Float(sent + frame)
          block.view.samples[2 * frame + 1] = -Float(sent + frame)
        }
        let written = ring.writer.write(block.view.prefix(frames))
        if written == 0 { TestThread.yield() }
        sent += written
      }
    }
    let block = PCMBlock(format: .session, frames: 480)
    var (received, wrong) = (0, 0)
    while received < total {
      let got = ring.reader.read(into: block.view)
      if got == 0 { TestThread.yield() }
      for frame in 0..<got {
        let value = Float(received + frame)
        let isRight = block.view.samples[2 * frame] == value && block.view.samples[2 * frame + 1] == -value
        if !isRight { wrong += 1 }
      }
      received += got
    }
    producer.join()
    #expect(wrong == 0 && received == total)
  }
}
