internal import EventLoop
internal import Glibc
internal import Reference
internal import Roomtone

/// `roomtone help NAME`: the help of a command, and the page of the reference on a module, a function, an object, an
/// error or a word. A command
/// comes first where both have the name.
enum HelpCommand {
  /// Shows the text, through a pager on a terminal.
  static func run(_ name: String, _ command: CommandSpec?) -> Int32 {
    let reference = StandardLibrary.reference()
    let width = min(80, Terminal.columns)
    guard let text = text(name, command, in: reference, width: width) else {
      Terminal.writeError(unknown(name, in: reference).line + "\n")
      return UsageError.exitStatus
    }
    Pager.show(text)
    return 0
  }

  /// Returns the error for an unknown name.
  private static func unknown(_ name: String, in reference: Reference) -> UsageError {
    let command = ArgumentParser().meant(by: name)
    let meant = [command, reference.suggestion(for: name)].compactMap { $0 }.first
    let end =
      meant.map { "; did you mean '\($0)'?" } ?? "; try a word for what you want to do, such as 'radio'"
    return UsageError(
      .command, "no command is called \(quoted(name.excerpt)), and no help has anything on it\(end)",
      help: ProgramSpec.roomtone.name)
  }

  /// Returns the text about a name; nil for an unknown one.
  static func text(_ name: String, _ command: CommandSpec?, in reference: Reference, width: Int) -> String? {
    guard let command else {
      return reference.page(about: name, width: width).map { $0.joined(separator: "\n") + "\n" }
    }
    var text = HelpText(command, of: .roomtone).text
    if reference.module(name) != nil, let page = reference.page(about: name, width: width) {
      text += "\nIn scripts:\n\n" + page.joined(separator: "\n") + "\n"
    } else {
      let functions = reference.functions.filter { $0.shortName == name && !$0.isMethod }
      if !functions.isEmpty {
        let calls = functions.map { "roomtone help \($0.name)" }.joined(separator: ", ")
        text += "\nIn scripts: \(calls)\n"
      }
    }
    return text
  }
}

/// The program that shows long texts on a terminal: `$PAGER`, else `less`; elsewhere, and without a pager,
/// they are printed.
enum Pager {
  static func show(_ text: String) {
    let chosen = getenv("PAGER").map { String(cString: $0) } ?? "less"
    let rows = Terminal.rows
    guard isatty(STDOUT_FILENO) == 1, !chosen.isEmpty, chosen != "cat",
      text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) >= rows,
      chosen != "less" || system("command -v less >/dev/null 2>&1") == 0
    else { return Terminal.write(text) }
    // The options are git's: no paging of a short text, colours, and the text stays on the screen.
    setenv("LESS", "FRX", 0)
    setenv("LESSCHARSET", "utf-8", 0)
    guard let pipe = popen(chosen, "w") else { return Terminal.write(text) }
    // Ctrl-C is for the pager, which runs until the person quits it.
    let former = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
    fputs(text, pipe)
    pclose(pipe)
    for (number, handler) in former { signal(number, handler) }
  }
}
