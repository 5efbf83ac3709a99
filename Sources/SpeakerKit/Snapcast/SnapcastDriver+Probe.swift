public import EventLoop

extension SnapcastDriver {
  /// Connects to a snapserver, reads its state and hangs up; waits for it, on a loop of its own. Any thread.
  /// - Returns: its address, the numbers of its clients, of those that are connected, and of the sessions that its streams
  ///   suffice for.
  /// - Throws: as `open`.
  public static func probe(
    _ settings: SnapcastSettings
  ) throws(SpeakerError) -> (address: String, clients: Int, connected: Int, sessions: Int) {
    let loop = EventLoop(name: "snapserver")
    let driver = SnapcastDriver(DriverContext(loop: loop, access: .look), settings)
    let reports = NoReports()
    var result: Result<(address: String, clients: Int, connected: Int, sessions: Int), any Error>?
    loop.start {
      do {
        let devices = try await driver.open(reports: reports)
        result = .success(
          (
            driver.address.text, devices.count,
            devices.count(where: \.isAvailable), driver.sessionLimit
          ))
      } catch { result = .failure(error) }
      await driver.close()
      loop.stop()
    }
    _ = loop.run(until: { false })
    loop.close()
    switch result {
    case .success(let found): return found
    case .failure(let error as SpeakerError): throw error
    case .failure(let error): throw SpeakerError(.lost, "the snapserver can't be asked: \(error)")
    case nil: throw SpeakerError(.lost, "the snapserver can't be asked")
    }
  }
}

/// Ignores reports.
final class NoReports: DriverReports {
  func levelsChanged(_ levels: [(device: String, volume: Int, isMuted: Bool)]) {}
  func deviceAdded(_ info: DeviceInfo) {}
  func deviceRemoved(_ device: String) {}
  func byController(_ body: () -> Void) {}
  func sessionChanged(_ session: SessionID?, ofDevice device: String) -> SessionID? { nil }
  func deviceChanged(_ change: DeviceChange, of device: String) {}
  func ended(cue: Int, in session: SessionID, failure: (any CodedError)?) {}
  func failed(_ error: any CodedError, device: String?, session: SessionID?) {}
}
