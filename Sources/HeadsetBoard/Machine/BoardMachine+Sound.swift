internal import HeadsetLink

extension BoardMachine {
  /// Answers requests about the sound and the battery; returns nil for all others.
  mutating func performSound(_ request: LinkFrame) -> [UInt8]? {
    let payload = request.payload
    switch request.operation {
    case .noiseCancelling:
      return answer(payload) { (_: GetNoiseCancelling, board) throws(LinkRefusal) in
        try board.sounds(.noiseCancelling)
        return board.settings.isCancelling
      }
    case .setNoiseCancelling:
      return answer(payload) { (request: SetNoiseCancelling, board) throws(LinkRefusal) in
        try board.set(noiseCancelling: request.value)
      }
    case .ambientLimits:
      return answer(payload) { (_: GetAmbientLimits, board) throws(LinkRefusal) in
        try board.sounds(.ambient)
        return board.profile.ambientLimits
      }
    case .ambient:
      return answer(payload) { (request: GetAmbient, board) throws(LinkRefusal) in
        try board.sounds(.ambient)
        return AmbientLevel(side: request.value, level: board.settings[request.value])
      }
    case .setAmbient:
      return answer(payload) { (request: SetAmbient, board) throws(LinkRefusal) in
        try board.set(ambient: request.value)
      }
    default: return performEqualizer(request)
    }
  }

  private mutating func performEqualizer(_ request: LinkFrame) -> [UInt8]? {
    let payload = request.payload
    switch request.operation {
    case .equalizerInfo:
      return answer(payload) { (_: GetEqualizerInfo, board) throws(LinkRefusal) in
        try board.sounds(.equalizer)
        return EqualizerInfo(
          bands: UInt8(board.profile.millihertz.count), lowest: board.profile.lowest,
          highest: board.profile.highest, presets: UInt8(board.settings.values.count))
      }
    case .equalizerBands:
      return answer(payload) { (_: GetEqualizerBands, board) throws(LinkRefusal) in
        try board.needsBands()
        let bands = board.profile.millihertz
        return EqualizerBands(millihertz: board.options.faults.hidesBand ? bands.dropLast() : bands)
      }
    case .equalizer:
      return answer(payload) { (request: GetEqualizer, board) throws(LinkRefusal) in
        try board.needsBands()
        if request.value == EqualizerValues.selected { return board.settings.equalizer }
        try board.has(preset: request.value)
        return EqualizerValues(preset: request.value, values: board.settings.values[Int(request.value)])
      }
    case .setEqualizerBand:
      return answer(payload) { (request: SetEqualizerBand, board) throws(LinkRefusal) in
        try board.set(request)
      }
    case .selectPreset:
      return answer(payload) { (request: SelectPreset, board) throws(LinkRefusal) in
        try board.select(preset: request.value)
      }
    case .setEqualizer:
      return answer(payload) { (request: SetEqualizer, board) throws(LinkRefusal) in
        try board.set(equalizer: request.value)
      }
    case .resetEqualizer:
      return answer(payload) { (request: ResetEqualizer, board) throws(LinkRefusal) in
        try board.needsBands()
        try board.has(preset: request.value)
        let factory = board.profile.presets[Int(request.value)].values
        return try board.set(equalizer: EqualizerValues(preset: request.value, values: factory))
      }
    default: return nil
    }
  }

  // MARK: Changes, by the host or by the wearer

  mutating func set(noiseCancelling isOn: Bool) throws(LinkRefusal) -> Done {
    try sounds(.noiseCancelling)
    return try change { $0.isCancelling = isOn }
  }

  mutating func set(ambient: AmbientLevel) throws(LinkRefusal) -> Done {
    try sounds(.ambient)
    let most = ambient.side == .left ? profile.ambientLimits.left : profile.ambientLimits.right
    guard ambient.level <= most else { throw LinkRefusal(.outOfRange) }
    return try change { $0[ambient.side] = ambient.level }
  }

  mutating func select(preset: UInt8) throws(LinkRefusal) -> Done {
    try needsBands()
    try has(preset: preset)
    return try change { $0.preset = preset }
  }

  private mutating func set(_ request: SetEqualizerBand) throws(LinkRefusal) -> Done {
    try needsBands()
    try has(preset: request.preset)
    guard Int(request.band) < profile.millihertz.count, isInRange(request.value) else {
      throw LinkRefusal(.outOfRange)
    }
    return try change { $0.values[Int(request.preset)][Int(request.band)] = request.value }
  }

  private mutating func set(equalizer: EqualizerValues) throws(LinkRefusal) -> Done {
    try needsBands()
    try has(preset: equalizer.preset)
    guard equalizer.values.count == profile.millihertz.count else { throw LinkRefusal(.wrongBandCount) }
    guard equalizer.values.allSatisfy(isInRange) else { throw LinkRefusal(.outOfRange) }
    return try change { $0.values[Int(equalizer.preset)] = equalizer.values }
  }

  mutating func set(battery: Battery) throws(LinkRefusal) -> Done {
    try can(.battery)
    guard battery.percent <= 100 else { throw LinkRefusal(.outOfRange) }
    return try change { $0.battery = battery }
  }

  /// Stores changed settings, and queues events for the changes.
  private mutating func change(_ body: (inout BoardSettings) -> Void) throws(LinkRefusal) -> Done {
    let before = settings
    var after = settings
    body(&after)
    guard after != before else { return Done() }
    let store = store
    try storing { () throws(BoardStoreError) in try after.save(store) }
    settings = after
    if after.isCancelling != before.isCancelling {
      events.append(NoiseCancellingChanged(after.isCancelling))
    }
    for side in Side.allCases where after[side] != before[side] {
      events.append(AmbientChanged(AmbientLevel(side: side, level: after[side])))
    }
    if !profile.millihertz.isEmpty, after.equalizer != before.equalizer {
      events.append(EqualizerChanged(after.equalizer))
    }
    if after.battery != before.battery { events.append(BatteryChanged(after.battery)) }
    return Done()
  }

  // MARK: Conditions

  /// Refuses a request in the bootloader, and without the capability.
  private func sounds(_ capability: Capabilities) throws(LinkRefusal) {
    try can(capability)
    guard mode == .application else { throw LinkRefusal(.wrongMode) }
  }

  private func needsBands() throws(LinkRefusal) {
    try sounds(.equalizer)
    guard !profile.millihertz.isEmpty else { throw LinkRefusal(.noBands) }
  }

  private func has(preset: UInt8) throws(LinkRefusal) {
    guard Int(preset) < settings.values.count else { throw LinkRefusal(.outOfRange) }
  }

  private func isInRange(_ value: Int8) -> Bool { (profile.lowest...profile.highest).contains(value) }
}
