import EventLoop
import RecordingKit
import TestTraits
import Testing

@testable import RoomtoneCLI

@Suite("the missing part of a recording", .tags(.recording, .command))
struct MissingSoundTests {
  private func text(
    late: Duration = .zero, _ seconds: Double, _ gaps: (at: Double, seconds: Double)...
  ) -> String? {
    MissingSound(late: late, seconds: seconds, gaps: gaps.map { .init(at: $0.at, seconds: $0.seconds) })?
      .description
  }

  @Test("is reported when it is more than a minute, or a twentieth of the whole")
  func much() {
    #expect(text(3600) == nil)
    #expect(text(0) == nil)
    #expect(text(7140, (100, 30), (200, 30)) == nil)
    #expect(text(7139, (100, 31), (200, 30)) == "1:01 of 2:00:00 is missing")
    #expect(text(96, (10, 4)) == nil)
    #expect(text(94, (10, 6)) == "0:06 of 1:40 is missing")
  }

  @Test("is reported when it is the end, and after a long silence at the beginning")
  func ends() {
    #expect(text(3597, (3597, 3)) == "0:03 of 1:00:00 is missing, up to the end")
    #expect(text(late: .seconds(6600), 600) == "1:50:00 of 2:00:00 is missing")
    #expect(text(late: .milliseconds(500), 600) == nil)
  }
}
