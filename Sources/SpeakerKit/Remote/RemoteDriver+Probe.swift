internal import EventLoop

extension RemoteDriver {
  /// Opens a house for inspection, on a loop of its own, and closes it; waits for it. Any thread.
  /// - Parameters:
  ///   - server: the name of the server in errors.
  ///   - limits: the limits of its speakers.
  ///   - make: creates the driver.
  ///   - describe: describes the open driver and its speakers in one line.
  /// - Throws: as `open`.
  static func probe(
    _ server: String, limits: [String: SpeakerLimit], _ make: (DriverContext) -> Self,
    _ describe: @escaping (Self, [DeviceInfo]) -> String
  ) throws(SpeakerError) -> ServerState {
    let loop = EventLoop(name: server)
    let driver = make(DriverContext(loop: loop, access: .look))
    let reports = NoReports()
    var result: Result<ServerState, any Error>?
    loop.start {
      do {
        let devices = try await driver.open(reports: reports)
        result = .success(ServerState(text: describe(driver, devices), devices, limits: limits))
      } catch { result = .failure(error) }
      await driver.close()
      loop.stop()
    }
    _ = loop.run(until: { false })
    loop.close()
    switch result {
    case .success(let found): return found
    case .failure(let error as SpeakerError): throw error
    case .failure(let error): throw SpeakerError(.lost, "the \(server) can't be asked: \(error)")
    case nil: throw SpeakerError(.lost, "the \(server) can't be asked")
    }
  }
}

/// Ignores reports.
private final class NoReports: DriverReports {
  func levelsChanged(_ levels: [(device: String, volume: Int, isMuted: Bool)]) {}
  func deviceAdded(_ info: DeviceInfo) {}
  func deviceRemoved(_ device: String) {}
  func byController(_ body: () -> Void) {}
  func sessionChanged(_ stream: DriverStream?, ofDevice device: String) -> DriverStream? { nil }
  func deviceChanged(_ change: DeviceChange, of device: String) {}
  func ended(cue: Int, in stream: DriverStream, failure: (any CodedError)?) {}
  func failed(_ error: any CodedError, device: String?, stream: DriverStream?) {}
}
