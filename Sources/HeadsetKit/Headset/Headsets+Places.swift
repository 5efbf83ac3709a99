public import EventLoop

extension Headsets {
  /// The headsets that this machine reaches.
  public convenience init(loop: EventLoop, settings: HeadsetSettings) {
    self.init(loop: loop, settings: settings) { address, key in
      HBPDriver(address: address, key: key, loop: loop)
    }
  }

  /// The headsets of a simulation.
  public convenience init(loop: EventLoop, settings: HeadsetSettings, boards: SimulatedBoards) {
    var known = settings
    known.address = settings.address ?? SimulatedBoards.usualAddress
    self.init(loop: loop, settings: known) { address, key in
      HBPDriver(name: "\(address)", key: key, loop: loop) { () async throws(HeadsetError) in
        try boards.connect(to: address, key: key, trusting: settings.firmwareKey())
      }
    }
  }
}
