import EventLoop
import TestSupport

@testable import HeadsetLink

extension SeededRandom {
  /// A frame of random contents.
  mutating func frame() throws -> LinkFrame {
    try LinkFrame(
      kind: LinkKind.allCases.randomElement(using: &self) ?? .event, sequence: number(), code: number(),
      payload: someBytes(upTo: LinkFrame.longestPayload))
  }
}
