/// Asks whether noise is cancelled.
struct GetNoiseCancelling: LinkRequest, EmptyMessage {
  typealias Answer = Flag
  static let operation = LinkOperation.noiseCancelling
}

/// A yes or no.
struct Flag: LinkMessage {
  var isOn: Bool
}

extension Flag {
  init(from payload: inout PayloadReader) throws(PayloadError) { isOn = try payload.bool() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.bool(isOn) }
}

/// Turns noise cancelling on or off.
struct SetNoiseCancelling: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setNoiseCancelling

  var isOn: Bool
}

extension SetNoiseCancelling {
  init(from payload: inout PayloadReader) throws(PayloadError) { isOn = try payload.bool() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.bool(isOn) }
}

/// Noise cancelling was turned on or off.
struct NoiseCancellingChanged: LinkEvent {
  static let operation = LinkOperation.noiseCancellingChanged

  var isOn: Bool
}

extension NoiseCancellingChanged {
  init(from payload: inout PayloadReader) throws(PayloadError) { isOn = try payload.bool() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.bool(isOn) }
}

/// One of the two ears.
enum Side: UInt8, CaseIterable, Sendable {
  case left = 0
  case right = 1
}

/// Asks how much of the surroundings can be let in.
struct GetAmbientLimits: LinkRequest, EmptyMessage {
  typealias Answer = AmbientLimits
  static let operation = LinkOperation.ambientLimits
}

/// The most of the surroundings that each side lets in.
struct AmbientLimits: LinkMessage {
  var left, right: UInt8
}

extension AmbientLimits {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    (left, right) = try (payload.u8(), payload.u8())
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.u8(left)
    payload.u8(right)
  }
}

/// Asks how much of the surroundings one side lets in.
struct GetAmbient: LinkRequest {
  typealias Answer = AmbientLevel
  static let operation = LinkOperation.ambient

  var side: Side
}

extension GetAmbient {
  init(from payload: inout PayloadReader) throws(PayloadError) { side = try payload.choice() }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { payload.choice(side) }
}

/// How much of the surroundings one side lets in, from 0.
struct AmbientLevel: LinkMessage {
  var side: Side
  var level: UInt8
}

extension AmbientLevel {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    side = try payload.choice()
    level = try payload.u8()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    payload.choice(side)
    payload.u8(level)
  }
}

/// Sets how much of the surroundings one side lets in.
struct SetAmbient: LinkRequest {
  typealias Answer = Done
  static let operation = LinkOperation.setAmbient

  var ambient: AmbientLevel
}

extension SetAmbient {
  init(from payload: inout PayloadReader) throws(PayloadError) { ambient = try AmbientLevel(from: &payload) }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { try ambient.write(to: &payload) }
}

/// One side lets in more or less of the surroundings.
struct AmbientChanged: LinkEvent {
  static let operation = LinkOperation.ambientChanged

  var ambient: AmbientLevel
}

extension AmbientChanged {
  init(from payload: inout PayloadReader) throws(PayloadError) { ambient = try AmbientLevel(from: &payload) }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { try ambient.write(to: &payload) }
}

/// Asks how full the battery is.
struct GetBattery: LinkRequest, EmptyMessage {
  typealias Answer = Battery
  static let operation = LinkOperation.battery
}

/// How full the battery is.
struct Battery: LinkMessage {
  /// 0 to 100.
  var percent: UInt8
  var isCharging: Bool
}

extension Battery {
  init(from payload: inout PayloadReader) throws(PayloadError) {
    percent = try payload.u8()
    guard percent <= 100 else { throw .value(Int(percent)) }
    isCharging = try payload.bool()
  }

  func write(to payload: inout PayloadWriter) throws(PayloadError) {
    guard percent <= 100 else { throw .value(Int(percent)) }
    payload.u8(percent)
    payload.bool(isCharging)
  }
}

/// The battery is fuller or emptier, is charged or no more.
struct BatteryChanged: LinkEvent {
  static let operation = LinkOperation.batteryChanged

  var battery: Battery
}

extension BatteryChanged {
  init(from payload: inout PayloadReader) throws(PayloadError) { battery = try Battery(from: &payload) }
  func write(to payload: inout PayloadWriter) throws(PayloadError) { try battery.write(to: &payload) }
}
