internal import HeadsetKit
internal import HeadsetLink

// Commands and options of headsets.

extension CommandSpec {
  static let headset = CommandSpec(
    name: "headset",
    summary: "shows and changes the settings of a headset, updates its firmware",
    operands: [],
    options: [.transport, .keyFile, .firmwareKey, .jsonList, .config],
    actions: [
      ActionSpec(
        name: "status", summary: "shows its name, firmware and settings",
        options: [.transport, .keyFile, .jsonList, .config]),
      ActionSpec(
        name: "anc", summary: "turns noise cancelling on or off, or shows whether it is on",
        operands: [.onOrOff], options: connection),
      ActionSpec(
        name: "ambient", summary: "sets the level of ambient sound of each side, or shows it",
        operands: [.leftLevel, .rightLevel], options: connection),
      ActionSpec(
        name: "eq", summary: "selects a preset of the equalizer, or shows the selected one",
        operands: [.preset], options: connection),
      ActionSpec(
        name: "update", summary: "installs new firmware, and waits until it runs",
        operands: [.newFirmware], options: connection + [.firmwareKey]),
      ActionSpec(name: "reboot", summary: "starts it again", options: connection),
    ],
    notes: [
      """
      The headset is the one of the configuration, unless --transport is the address of another: \
      \(LinkAddress.forms). Its key is read from a file that only its owner may read; without one, the development key of \
      the emulated board is used, which protects nothing.
      """,
      """
      An update may take minutes, and continues when a lost link is restored. On a terminal a line shows its progress.
      """,
    ],
    examples: [
      ExampleSpec("roomtone headset", "the settings of the configured headset"),
      ExampleSpec("roomtone headset anc on", "for the train"),
      ExampleSpec("roomtone headset ambient 5 -", "the left side; the right one stays"),
      ExampleSpec(
        "roomtone headset update v2.rtfw --transport unix:/run/headset.sock", "another headset's firmware"),
    ])

  private static let connection: [OptionSpec] = [.transport, .keyFile, .config]
}

extension OperandSpec {
  static let onOrOff = OperandSpec(
    name: "STATE", summary: "'on' or 'off'", isOptional: true,
    sources: [.words(["on", "off"])])
  static let leftLevel = OperandSpec(
    name: "LEFT", summary: "from 0, or - to leave that side as it is", isOptional: true)
  static let rightLevel = OperandSpec(name: "RIGHT", summary: "the same for the right side", isOptional: true)
  static let preset = OperandSpec(
    name: "PRESET", summary: Headset.presetNames.joined(separator: ", ") + ", or a number from 0",
    isOptional: true, sources: [.words(Headset.presetNames)])
  static let newFirmware = OperandSpec(
    name: "FILE", summary: "the firmware with its manifest", sources: [.files(["rtfw"])])
}

extension OptionSpec {
  // Options of `headset`.
  static let transport = OptionSpec(
    "transport", .text, valueName: "ADDRESS",
    sources: [
      .files(behind: "unix:"), .files(behind: "serial:"), .beginnings(["tcp:127.0.0.1:", "rfcomm:"]),
    ],
    "where the headset is, unless the configuration says so")
  static let keyFile = OptionSpec(
    "key-file", .file, "the key of the link: 64 hexadecimal digits, readable by its owner only")
  static let firmwareKey = OptionSpec(
    "firmware-key", .file, sources: [.files(["pem"])], "the public key of the firmware's signer")
}
