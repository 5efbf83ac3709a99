internal import EventLoop
internal import Home
internal import Roomtone

/// Command `roomtone meta`: the definitions of the Lua API, as files for an editor.
enum MetaCommand {
  /// The folder of the definitions, inside the folder that the command line names.
  private static let subfolder = "meta"
  private static let settingsName = ".luarc.json"

  /// The settings of the editor's language server. The main chunk of a script may call functions that suspend, which
  /// servers do not know.
  static let settings = """
    {
      "runtime": { "version": "Lua 5.4" },
      "workspace": { "library": ["\(subfolder)"], "checkThirdParty": false },
      "diagnostics": { "disable": ["await-in-sync"] }
    }

    """

  static func run(_ arguments: ParsedArguments) throws -> Int32 {
    guard let named = arguments.text(.exportFolder) else {
      throw UsageError(
        .option, "meta: a folder for the definitions is expected: --export DIR", help: "roomtone meta")
    }
    let root = named.count > 1 && named.hasSuffix("/") ? String(named.dropLast()) : named
    let replaces = arguments.has(.force)
    let folder = "\(root)/\(subfolder)"
    do { try LinuxFiles.makeFolders(folder, mode: 0o777) } catch {
      throw CommandFailure(.definitions, "can't make the folder \(folder.onOneLine): \(error.text)")
    }
    let files = StandardLibrary.definitionFiles()
    let outputs = try files.map { file in
      let path = "\(folder)/\(file.name)"
      let isOwn = (try? WholeFile.read(path, atMost: 1 << 20))?.starts(with: "---@meta".utf8) == true
      return (try OutputFile(path, replaces: replaces || isOwn, kind: .definitions), file.bytes)
    }
    for (output, bytes) in outputs { try output.write(bytes) }
    Terminal.print("\(folder.onOneLine): \(files.count) files of definitions")
    try writeSettings("\(root)/\(settingsName)", replaces: replaces)
    return 0
  }

  /// Writes the settings; existing other settings stay, and a message says so.
  private static func writeSettings(_ path: String, replaces: Bool) throws {
    let settings = Array(settings.utf8)
    let found = try? WholeFile.read(path, atMost: 1 << 20)
    if let found, found != settings, !replaces {
      let line = "\(path.onOneLine) is there already and stays; it needs \"workspace\": { \"library\": "
      return Terminal.log(.warn, line + "[\"\(subfolder)\"] }, or --force replaces it", [])
    }
    try OutputFile(path, replaces: true, kind: .definitions).write(settings)
    Terminal.print("\(path.onOneLine): the settings of an editor's language server")
  }
}

extension OptionSpec {
  static let exportFolder = OptionSpec(
    "export", .folder, "the folder of scripts that an editor opens; created if it does not exist")
}

extension CommandSpec {
  static let meta = CommandSpec(
    name: "meta",
    summary: "writes the definitions of the Lua API for editors",
    operands: [],
    options: [.exportFolder, .force],
    notes: [
      """
      Writes DIR/meta, the definitions of all modules in LuaCATS, and DIR/.luarc.json, the settings with which the \
      language servers LuaLS and EmmyLua find them: the editor then completes names, shows help, and marks mistakes. Run it \
      again after an update. Existing definitions are replaced; another .luarc.json, and a file that is not a \
      definition, only with --force.
      """
    ],
    examples: [
      ExampleSpec("roomtone meta --export ~/.config/roomtone/scripts", "for the scripts of the daemon")
    ])
}
