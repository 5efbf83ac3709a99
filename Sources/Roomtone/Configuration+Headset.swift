internal import EventLoop
internal import HeadsetKit
internal import HeadsetLink
internal import LuaModules
internal import LuaRuntime

// `headset { … }`: where the headset is, and what it is known by.

extension Configuration {
  static func readHeadset(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["transport", "key_file", "firmware_key"])
    if let given = try options.string("transport") {
      do throws(HeadsetError) { configuration.headset.address = try LinkAddress(parsing: given) } catch {
        throw options.problem("transport", error.message, hint: error.hint)
      }
    }
    if let path = try options.path("key_file") { configuration.headset.keyFile = path }
    if let path = try options.path("firmware_key") { configuration.headset.firmwareKeyFile = path }
  }
}
