internal import EventLoop
internal import JSONText

/// The check of Home Assistant, by the status of the daemon that publishes the house.
enum HomeAssistantCheck {
  static let name = "home assistant"

  /// The check. Blocks the calling thread.
  static let check = Check([name], isAskedFor: true) { [finding()] }

  private static func finding() -> Finding {
    do {
      guard let client = try ControlClient.connect(), client.process?.isDaemon == true else {
        return .ok(name, "not published: `roomtone serve` does that, and does not run")
      }
      return finding(try client.call("status")["home_assistant"])
    } catch let error as any CodedError {
      return .warn(name, "the daemon does not answer: \(error.message)", hint: error.hint)
    } catch { return .warn(name, "the daemon does not answer: \(error)", hint: nil) }
  }

  /// Returns the finding for the part of a daemon's status.
  static func finding(_ status: JSON?) -> Finding {
    guard let text = ControlText.homeAssistant(status) else {
      return .warn(
        name, "the daemon does not publish the house", hint: "start it again, to read its configuration")
    }
    guard status?["present"]?.bool == true else {
      return .warn(
        name, text, hint: "connect its MQTT integration to the broker of mqtt { }, or restart Home Assistant")
    }
    return .ok(name, text)
  }
}
