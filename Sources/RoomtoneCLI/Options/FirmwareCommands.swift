// Commands and options for firmware of headsets.

extension CommandSpec {
  static let firmware = CommandSpec(
    name: "firmware",
    summary: "makes, signs and inspects firmware files of headsets",
    operands: [],
    options: [.firmwareOutput, .model, .firmwareVersion, .lowest, .key, .force, .jsonList],
    actions: [
      ActionSpec(
        name: "inspect", summary: "shows the model, versions, hash and signature of a file",
        operands: [.firmwareFile], options: [.key, .jsonList]),
      ActionSpec(
        name: "pack", summary: "makes a file of an image; needs --output, --model and --version",
        operands: [.image],
        options: [.firmwareOutput, .model, .firmwareVersion, .lowest, .key, .force]),
      ActionSpec(
        name: "sign", summary: "signs a file anew, in its place; needs --key",
        operands: [.firmwareFile], options: [.key]),
    ],
    notes: [
      """
      A headset accepts a file that is for its model, not older than its firmware, and signed with the key that it \
      trusts. VERSION is one to four numbers joined by dots, compared by number: 1.10 is newer than 1.9.
      """,
      """
      Keys are of Ed25519, in PEM: 'openssl genpkey -algorithm ed25519 -out key.pem' makes one, and 'openssl pkey -in \
      key.pem -pubout -out public.pem' its public half. A private key must be readable by its owner alone. Without \
      --key the development key signs and checks: everybody has it, and only emulated boards trust it.
      """,
      """
      Files are written whole or not at all. An existing file is replaced with --force only. Exit status: 1 when a file \
      can't be read or written, or when the hash or the signature of an inspected one is wrong.
      """,
    ],
    examples: [
      ExampleSpec(
        "roomtone firmware pack app.bin -o app.rtfw --model RT-1 --version 1.10.2",
        "for an emulated headset"),
      ExampleSpec("roomtone firmware sign app.rtfw --key key.pem", "signs with it"),
      ExampleSpec("roomtone firmware inspect app.rtfw --key public.pem", "shows whether that key signed it"),
    ])
}

extension OperandSpec {
  static let firmwareFile = OperandSpec(name: "FILE", summary: "a firmware file", sources: [.files(["rtfw"])])
  static let image = OperandSpec(
    name: "IMAGE", summary: "the program of the headset: 1 byte to 16 MiB", sources: [.files()])
}

extension OptionSpec {
  // Options of `firmware`.
  static let firmwareOutput = OptionSpec(
    "output", short: "o", .file, sources: [.files(["rtfw"])], "the file to make")
  static let model = OptionSpec("model", .text, valueName: "NAME", "the model of the headset")
  static let firmwareVersion = OptionSpec(
    "version", .text, valueName: "VERSION", "the version of the image")
  static let lowest = OptionSpec(
    "lowest", .text, valueName: "VERSION", "the lowest version that can be updated from (default: any)")
  static let key = OptionSpec(
    "key", .file, sources: [.files(["pem"])],
    "private key to sign with, public key to check a signature (default: the development key)")
  static let force = OptionSpec("force", short: "f", .flag, "replaces an existing file")
}
