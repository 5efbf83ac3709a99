/// Asks for the state of noise cancelling.
struct GetNoiseCancelling: LinkRequest, EmptyMessage {
  typealias Answer = Flag
  static let operation = LinkOperation.noiseCancelling

  init() {}
}

/// A yes or no.
struct Flag: LinkMessage {
  var isOn = false

  init() {}
  init(isOn: Bool) { self.isOn = isOn }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.bool(&isOn) }
}

/// Turns noise cancelling on or off.
struct SetNoiseCancelling: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setNoiseCancelling

  var isOn = false

  init() {}
  init(isOn: Bool) { self.isOn = isOn }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.bool(&isOn) }
}

/// Reports that noise cancelling was turned on or off.
struct NoiseCancellingChanged: LinkEvent {
  static let operation = LinkOperation.noiseCancellingChanged

  var isOn = false

  init() {}
  init(isOn: Bool) { self.isOn = isOn }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.bool(&isOn) }
}

/// One of the two ears.
enum Side: UInt8, CaseIterable, Sendable {
  case left = 0
  case right = 1
}

/// Asks for the highest ambient levels.
struct GetAmbientLimits: LinkRequest, EmptyMessage {
  typealias Answer = AmbientLimits
  static let operation = LinkOperation.ambientLimits

  init() {}
}

/// The highest ambient level of each side.
struct AmbientLimits: LinkMessage {
  var left: UInt8 = 0
  var right: UInt8 = 0

  init() {}
  init(left: UInt8, right: UInt8) {
    (self.left, self.right) = (left, right)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&left)
    try coder.u8(&right)
  }
}

/// Asks for the ambient level of one side.
struct GetAmbient: LinkRequest {
  typealias Answer = AmbientLevel
  static let operation = LinkOperation.ambient

  var side = Side.left

  init() {}
  init(side: Side) { self.side = side }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.choice(&side) }
}

/// The ambient level of one side: how much of the surroundings it lets in, from 0.
struct AmbientLevel: LinkMessage {
  var side = Side.left
  var level: UInt8 = 0

  init() {}
  init(side: Side, level: UInt8) {
    (self.side, self.level) = (side, level)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&side)
    try coder.u8(&level)
  }
}

/// Sets the ambient level of one side.
struct SetAmbient: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setAmbient

  var ambient = AmbientLevel()

  init() {}
  init(ambient: AmbientLevel) { self.ambient = ambient }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try ambient.code(&coder) }
}

/// Reports that the ambient level of one side has changed.
struct AmbientChanged: LinkEvent {
  static let operation = LinkOperation.ambientChanged

  var ambient = AmbientLevel()

  init() {}
  init(ambient: AmbientLevel) { self.ambient = ambient }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try ambient.code(&coder) }
}

/// Asks for the state of the battery.
struct GetBattery: LinkRequest, EmptyMessage {
  typealias Answer = Battery
  static let operation = LinkOperation.battery

  init() {}
}

/// The state of the battery.
struct Battery: LinkMessage {
  /// The charge in percent, 0 to 100.
  var percent: UInt8 = 0
  var isCharging = false

  init() {}
  init(percent: UInt8, isCharging: Bool) {
    (self.percent, self.isCharging) = (percent, isCharging)
  }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&percent)
    guard percent <= 100 else { throw .value(Int(percent)) }
    try coder.bool(&isCharging)
  }
}

/// Reports that the charge of the battery has changed, or that charging began or ended.
struct BatteryChanged: LinkEvent {
  static let operation = LinkOperation.batteryChanged

  var battery = Battery()

  init() {}
  init(battery: Battery) { self.battery = battery }

  mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try battery.code(&coder) }
}
