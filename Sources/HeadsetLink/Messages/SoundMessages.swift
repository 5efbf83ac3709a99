/// Asks for the state of noise cancelling.
package typealias GetNoiseCancelling = SingleRequest<0x0010, Done, Bool>

/// Turns noise cancelling on or off.
package typealias SetNoiseCancelling = SingleRequest<0x0011, Bool, Done>

/// Reports that noise cancelling was turned on or off.
package typealias NoiseCancellingChanged = SingleEvent<0x8010, Bool>

/// A side of the headset: one of the two ears.
package enum Side: UInt8, CaseIterable, Sendable {
  case left = 0
  case right = 1
}

/// Asks for the highest ambient levels.
package typealias GetAmbientLimits = SingleRequest<0x0020, Done, AmbientLimits>

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
package typealias GetAmbient = SingleRequest<0x0021, Side, AmbientLevel>

/// The ambient level of one side: the amount of outside sound that it lets in, from 0.
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
package typealias SetAmbient = SingleRequest<0x0022, AmbientLevel, Done>

/// Reports that the ambient level of one side has changed.
package typealias AmbientChanged = SingleEvent<0x8020, AmbientLevel>

/// Asks for the state of the battery.
package typealias GetBattery = SingleRequest<0x0040, Done, Battery>

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
package typealias BatteryChanged = SingleEvent<0x8040, Battery>
