/// Asks for the state of noise cancelling.
package struct GetNoiseCancelling: LinkRequest, EmptyMessage {
  package typealias Answer = Flag
  package static let operation = LinkOperation.noiseCancelling

  package init() {}
}

/// A yes or no.
package struct Flag: LinkMessage {
  package var isOn = false

  package init() {}
  package init(isOn: Bool) { self.isOn = isOn }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.bool(&isOn) }
}

/// Turns noise cancelling on or off.
package struct SetNoiseCancelling: LinkRequest {
  package typealias Answer = Done
  package static let operation = LinkOperation.setNoiseCancelling

  package var isOn = false

  package init() {}
  package init(isOn: Bool) { self.isOn = isOn }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.bool(&isOn) }
}

/// Reports that noise cancelling was turned on or off.
package struct NoiseCancellingChanged: LinkEvent {
  package static let operation = LinkOperation.noiseCancellingChanged

  package var isOn = false

  package init() {}
  package init(isOn: Bool) { self.isOn = isOn }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) { try coder.bool(&isOn) }
}

/// A side of the headset: one of the two ears.
package enum Side: UInt8, CaseIterable, Sendable {
  case left = 0
  case right = 1
}

/// Asks for the highest ambient levels.
package struct GetAmbientLimits: LinkRequest, EmptyMessage {
  package typealias Answer = AmbientLimits
  package static let operation = LinkOperation.ambientLimits

  package init() {}
}

/// The highest ambient level of each side.
package struct AmbientLimits: LinkMessage {
  package var left: UInt8 = 0
  package var right: UInt8 = 0

  package init() {}
  package init(left: UInt8, right: UInt8) {
    (self.left, self.right) = (left, right)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&left)
    try coder.u8(&right)
  }
}

/// Asks for the ambient level of one side.
package struct GetAmbient: LinkRequest {
  package typealias Answer = AmbientLevel
  package static let operation = LinkOperation.ambient

  package var side = Side.left

  package init() {}
  package init(side: Side) { self.side = side }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&side)
  }
}

/// The ambient level of one side: how much of the surroundings it lets in, from 0.
package struct AmbientLevel: LinkMessage {
  package var side = Side.left
  package var level: UInt8 = 0

  package init() {}
  package init(side: Side, level: UInt8) {
    (self.side, self.level) = (side, level)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.choice(&side)
    try coder.u8(&level)
  }
}

/// Sets the ambient level of one side.
package struct SetAmbient: LinkRequest {
  package typealias Answer = Done
  package static let operation = LinkOperation.setAmbient

  package var ambient = AmbientLevel()

  package init() {}
  package init(ambient: AmbientLevel) { self.ambient = ambient }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try ambient.code(&coder)
  }
}

/// Reports that the ambient level of one side has changed.
package struct AmbientChanged: LinkEvent {
  package static let operation = LinkOperation.ambientChanged

  package var ambient = AmbientLevel()

  package init() {}
  package init(ambient: AmbientLevel) { self.ambient = ambient }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try ambient.code(&coder)
  }
}

/// Asks for the state of the battery.
package struct GetBattery: LinkRequest, EmptyMessage {
  package typealias Answer = Battery
  package static let operation = LinkOperation.battery

  package init() {}
}

/// The state of the battery.
package struct Battery: LinkMessage {
  /// The charge in percent, 0 to 100.
  package var percent: UInt8 = 0
  package var isCharging = false

  package init() {}
  package init(percent: UInt8, isCharging: Bool) {
    (self.percent, self.isCharging) = (percent, isCharging)
  }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try coder.u8(&percent)
    guard percent <= 100 else { throw .value(Int(percent)) }
    try coder.bool(&isCharging)
  }
}

/// Reports that the charge of the battery has changed, or that charging began or ended.
package struct BatteryChanged: LinkEvent {
  package static let operation = LinkOperation.batteryChanged

  package var battery = Battery()

  package init() {}
  package init(battery: Battery) { self.battery = battery }

  package mutating func code(_ coder: inout some PayloadCoder) throws(PayloadError) {
    try battery.code(&coder)
  }
}
