import EventLoop
import Glibc
import TestSupport
import TestTraits
import Testing

@testable import Playback

@Suite("The waker of a decoder", .tags(.stream, .playback)) struct WakerTests {
  /// The address sanitizer gives variables other places than the stack.
  private static let isOnStack = dlsym(nil, "__asan_init") == nil

  @Test(
    "calls its callback at the same depth of the stack, however often it has been called",
    .enabled(if: isOnStack))
  func depth() throws {
    let (waker, places) = (Waker(), Lock<[Int]>([]))
    waker.set {
      var mark: UInt8 = 0
      let place = withUnsafePointer(to: &mark) { Int(bitPattern: $0) }
      places.withLock { $0.append(place) }
    }
    for _ in 0..<1000 { waker.wake() }
    let found = places.withLock { $0 }
    #expect(found.count == 1000 && Set(found).count == 1)
  }
}
