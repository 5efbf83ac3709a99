import EventLoop
import TestSupport
import TestTraits
import Testing

@testable import HeadsetBoard
@testable import HeadsetKit
@testable import HeadsetLink

@Suite("The sound of a board", .tags(.headset, .board, .equalizer)) struct BoardSoundTests {
  private static func options(_ profile: String) throws -> BoardOptions {
    try .with { $0.profile = try BoardProfile(named: profile) }
  }

  private func event<Event: LinkEvent>(_ frame: LinkFrame?, _: Event.Type) throws -> Event {
    let frame = try #require(frame)
    #expect(frame.operation == Event.operation)
    return try Event(payload: frame.payload)
  }

  @Test("is set, queried, and reported only when it changes") func settings() throws {
    try withHost { host, board async throws in
      try await host.request(SetNoiseCancelling(true))
      try await host.request(SetNoiseCancelling(true))
      #expect(try await host.request(GetNoiseCancelling()))
      let level = AmbientLevel(side: .right, level: 7)
      try await host.request(SetAmbient(level))
      #expect(try await host.request(GetAmbient(.right)) == level)
      #expect(try await host.request(GetAmbient(.left)).level == 0)
      #expect(host.events.count == 2)
      #expect(try event(host.events.first, NoiseCancellingChanged.self).value)
      #expect(try event(host.events.last, AmbientChanged.self).value == level)
      #expect(board.report.ambientRight == 7)
    }
  }

  @Test("has ten bands and four presets, that are selected, set and reset") func equalizer() throws {
    try withHost { host, board async throws in
      let info = try await host.request(GetEqualizerInfo())
      #expect(info == EqualizerInfo(bands: 10, lowest: -12, highest: 12, presets: 4))
      let bands = try await host.request(GetEqualizerBands()).millihertz
      #expect(bands.first == 31_250 && bands.last == 16_000_000 && bands.count == 10)
      let music = try await host.request(GetEqualizer(EqualizerValues.selected))
      #expect(music.preset == 0)

      try await host.request(SetEqualizerBand(preset: 3, band: 9, value: -12))
      #expect(host.events.isEmpty, "a preset that is not heard is no news")
      try await host.request(SelectPreset(3))
      var values = [Int8](repeating: 0, count: 9) + [-12]
      #expect(
        try event(host.events.last, EqualizerChanged.self).value
          == EqualizerValues(preset: 3, values: values))
      values[0] = 12
      try await host.request(SetEqualizer(EqualizerValues(preset: 3, values: values)))
      #expect(try await host.request(GetEqualizer(3)).values == values)
      try await host.request(ResetEqualizer(3))
      #expect(try await host.request(GetEqualizer(0xFF)).values == [Int8](repeating: 0, count: 10))
      #expect(host.events.count == 3)
      #expect(try await host.request(GetEqualizer(0)) == music)
    }
  }

  @Test("is refused what is out of range, and stays as it is") func ranges() throws {
    try withHost { host, board async throws in
      let before = board.report
      let ten = [Int8](repeating: 0, count: 10)
      for (request, expected) in [
        (SetAmbient(AmbientLevel(side: .left, level: 8)), .outOfRange),
        (SetEqualizerBand(preset: 0, band: 10, value: 0), .outOfRange),
        (SetEqualizerBand(preset: 4, band: 0, value: 0), .outOfRange),
        (SetEqualizerBand(preset: 0, band: 0, value: 13), .outOfRange),
        (SetEqualizerBand(preset: 0, band: 0, value: -13), .outOfRange),
        (SelectPreset(4), .outOfRange), (SelectPreset(0xFF), .outOfRange),
        (GetEqualizer(4), .outOfRange), (ResetEqualizer(4), .outOfRange),
        (SetEqualizer(EqualizerValues(preset: 0, values: ten + [0])), .wrongBandCount),
        (SetEqualizer(EqualizerValues(preset: 0, values: [])), .wrongBandCount),
        (SetEqualizer(EqualizerValues(preset: 0, values: ten.dropLast() + [99])), .outOfRange),
      ] as [(any LinkRequest, LinkStatus)] {
        #expect(try await host.status(request) == expected, "\(request)")
      }
      #expect(board.report == before)
      #expect(host.events.isEmpty)
    }
  }

  @Test("without bands has no equalizer to set") func noBands() throws {
    try withHost(Self.options("no-bands")) { host, board async throws in
      #expect(try await host.request(GetEqualizerInfo()).bands == 0)
      for request in [
        GetEqualizerBands(), GetEqualizer(0xFF), SelectPreset(0), ResetEqualizer(0),
        SetEqualizerBand(preset: 0, band: 0, value: 0),
      ] as [any LinkRequest] {
        #expect(try await host.status(request) == .noBands, "\(request)")
      }
    }
  }

  @Test(
    "is refused as unsupported where the board has not got it",
    arguments: [
      ("no-ambient", [GetAmbientLimits(), GetAmbient(.left)]),
      ("no-noise-cancelling", [GetNoiseCancelling(), SetNoiseCancelling(true)]),
      ("no-battery", [GetBattery()]),
    ] as [(String, [any LinkRequest])])
  func unsupported(profile: String, requests: [any LinkRequest]) throws {
    try withHost(Self.options(profile)) { host, board async throws in
      for request in requests { #expect(try await host.status(request) == .unsupported) }
    }
  }

  @Test("differs with the profile", arguments: [("one-band", 1), ("eleven-bands", 11)])
  func bands(profile: String, count: Int) throws {
    try withHost(Self.options(profile)) { host, board async throws in
      #expect(try await host.request(GetEqualizerInfo()).bands == count)
      #expect(try await host.request(GetEqualizerBands()).millihertz.count == count)
      #expect(try await host.request(GetEqualizer(1)).values.count == count)
    }
    try withHost(Self.options("asymmetric")) { host, board async throws in
      #expect(try await host.request(GetAmbientLimits()) == AmbientLimits(left: 10, right: 4))
      #expect(try await host.status(SetAmbient(AmbientLevel(side: .left, level: 10))) == .ok)
      #expect(try await host.status(SetAmbient(AmbientLevel(side: .right, level: 5))) == .outOfRange)
    }
  }

  @Test("has one band fewer than it claims when that is the fault") func hiddenBand() throws {
    try withHost(.with { $0.faults.hidesBand = true }) { host, board async throws in
      #expect(try await host.request(GetEqualizerInfo()).bands == 10)
      #expect(try await host.request(GetEqualizerBands()).millihertz.count == 9)
    }
  }

  @Test("is not there in the bootloader, where the battery still is") func bootloader() throws {
    try withBoard { board async throws in
      let host = BoardHost(board)
      try await host.connect()
      try await host.request(Reboot(.bootloader))
      try await host.loop.sleep(for: .seconds(1))
      let other = BoardHost(board)
      #expect(try await other.connect().image == .bootloader)
      for request in [
        GetNoiseCancelling(), SetNoiseCancelling(true), GetAmbientLimits(), GetAmbient(.left),
        GetEqualizerInfo(), GetEqualizerBands(), GetEqualizer(0), SelectPreset(1),
      ] as [any LinkRequest] {
        #expect(try await other.status(request) == .wrongMode, "\(request)")
      }
      #expect(try await other.request(GetBattery()).percent == 80)
      #expect(try await other.request(GetImageType()) == .bootloader)
    }
  }

  @Test("is changed by the wearer, too, and the host is notified") func wearer() throws {
    try withHost { host, board async throws in
      for line in ["noise on", "ambient left 3", "preset 2", "battery 25", "charging on"] {
        try board.perform(BoardGesture(parsing: line))
      }
      try await host.request(Ping())
      #expect(
        host.events.map(\.operation) == [
          .noiseCancellingChanged, .ambientChanged, .equalizerChanged, .batteryChanged, .batteryChanged,
        ])
      let battery = try event(host.events.last, BatteryChanged.self).value
      #expect(battery == Battery(percent: 25, isCharging: true))
      #expect(try await host.request(GetBattery()) == battery)
      #expect(throws: BoardError.self) { try board.perform(.ambient(.left, 8)) }
      try board.perform(.disconnect)
      try await host.loop.sleep(for: .milliseconds(10))
      #expect(host.isEnded)
    }
  }

  @Test("a wearer's line that can't be parsed is reported with a suggestion") func gestures() {
    for (line, expected) in [
      ("nois on", "no command of the board is called \"nois\""), ("", "the line is empty"),
      ("ambient middle 3", "\"ambient middle 3\" can't be read: ambient left|right LEVEL expected"),
      ("battery 300", "\"battery 300\" can't be read: battery PERCENT expected"),
    ] {
      #expect { try BoardGesture(parsing: line) } throws: { ($0 as? BoardError)?.message == expected }
    }
    #expect { try BoardGesture(parsing: "nois on") } throws: {
      ($0 as? BoardError)?.hint == "did you mean noise?"
    }
  }

  @Test("lasts until the board is started again") func lasting() throws {
    let store = MemoryStore()
    var before: BoardReport?
    try withHost(store: store) { host, board async throws in
      try await host.request(SetNoiseCancelling(true))
      try await host.request(SetEqualizerBand(preset: 1, band: 2, value: -7))
      try await host.request(SelectPreset(1))
      before = board.report
    }
    try withHost(store: store) { host, board async throws in
      #expect(board.report.equalizer == before?.equalizer)
      #expect(board.report.preset == 1 && board.report.noiseCancelling)
      #expect(board.report.boots == 2)
    }
  }

  @Test("a state of another kind of board, and a damaged one, are refused") func foreign() throws {
    let store = MemoryStore()
    try withBoard(store: store) { _ in }
    #expect(throws: BoardError.self) { try withBoard(Self.options("one-band"), store: store) { _ in } }
    store.stage(.settings, [1, 2, 3])
    store.publish(.settings)
    #expect(throws: BoardError.self) { try withBoard(store: store) { _ in } }
  }

  @Test("no profile is called so, and the nearest one is named") func unknownProfile() {
    #expect { try BoardProfile(named: "one-bands") } throws: {
      ($0 as? BoardError)?.hint == "did you mean one-band?"
    }
  }
}
