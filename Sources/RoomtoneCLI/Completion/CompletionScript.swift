/// The shells for which `roomtone completion` prints a script, and how each is asked and answered.
///
/// A script asks the program at each Tab: `roomtone __complete SHELL …`. So the proposals
/// fit the program's version, and the table of commands exists once.
enum CompletedShell: String, CaseIterable, Sendable {
  case bash, zsh, fish

  /// The script, which the shell reads once.
  var script: String {
    switch self {
    case .bash: Self.bashScript
    case .zsh: Self.zshScript
    case .fish: Self.fishScript
    }
  }

  /// Answers the query of a script.
  /// - Parameters:
  ///   - arguments: the words after the shell's name. bash: the characters that break words, and the line up
  ///     to the cursor; zsh and fish: the words after the program's name, the last one up to the cursor.
  ///   - names: returns the names of a kind.
  ///   - home: the home folder.
  func answer(
    _ arguments: [String], home: String?, names: (NameKind, _ configuration: String?) -> [String]
  ) -> String {
    switch self {
    case .bash: Self.answerBash(arguments, home, names)
    case .zsh: Self.answerZsh(arguments, names)
    case .fish: Self.answerFish(arguments, home, names)
    }
  }

  // MARK: bash

  private static let bashScript = """
    # bash completion of roomtone, printed by 'roomtone completion bash'.
    _roomtone() {
      local mode=
      COMPREPLY=()
      { IFS= read -r mode && mapfile -t COMPREPLY; } < <(
        "${1/#\\~\\//$HOME/}" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null
      )
      case $mode in
        files) compopt -o filenames 2>/dev/null ;;
        nospace) compopt -o nospace 2>/dev/null ;;
      esac
    }
    complete -F _roomtone roomtone

    """

  /// Returns a line with the mode (`files`: readline quotes; `nospace`; `words`), then a line for each reply.
  private static func answerBash(
    _ arguments: [String], _ home: String?, _ names: (NameKind, String?) -> [String]
  ) -> String {
    guard arguments.count == 2 else { return "" }
    let line = ShellLine(arguments[1], breaks: arguments[0])
    let completion = Completion(line.word, after: Array(line.words.dropFirst()), names: names)
    let value = String(line.word.dropFirst(completion.prefix.count))
    let paths = completion.files.flatMap { FileProposals.find($0, for: value, home: home) }
    // readline itself adds the slash of a folder.
    let values =
      completion.proposals.map(\.value) + paths.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    let replies = values.compactMap {
      line.replacement(by: completion.prefix + $0, isQuoted: paths.isEmpty)
    }
    let isBeginning = !completion.proposals.isEmpty && completion.proposals.allSatisfy(\.isBeginning)
    let mode = !paths.isEmpty ? "files" : isBeginning ? "nospace" : "words"
    return ([mode] + replies).map { $0 + "\n" }.joined()
  }

  // MARK: zsh

  private static let zshScript = """
    #compdef roomtone
    # zsh completion of roomtone, printed by 'roomtone completion zsh'.
    _roomtone() {
      local line result=1
      local -a fields complete partial
      local -a answer=("${(@f)$("${(Q)words[1]/#\\~\\//$HOME/}" __complete zsh \\
        "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
      for line in $answer; do
        fields=("${(@ps:\\t:)line}")
        case $fields[1] in
          prefix) compset -P "${(b)fields[2]}" ;;
          word) complete+=("${${fields[2]//\\\\/\\\\\\\\}//:/\\\\:}${fields[3]:+:$fields[3]}") ;;
          beginning) partial+=("${${fields[2]//\\\\/\\\\\\\\}//:/\\\\:}") ;;
        esac
      done
      (( $#complete )) && _describe -t values value complete -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' && result=0
      (( $#partial )) && _describe -t values value partial -S '' && result=0
      for line in $answer; do
        fields=("${(@ps:\\t:)line}")
        case $fields[1] in
          files) compset -P "${(b)fields[2]}"; _files ${fields[3]:+-g "$fields[3]"} && result=0 ;;
          folders) compset -P "${(b)fields[2]}"; _files -/ && result=0 ;;
        esac
      done
      return result
    }
    if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _roomtone "$@"; else compdef _roomtone roomtone; fi

    """

  /// Returns lines of fields with tabs between: `prefix TEXT`, `word VALUE SUMMARY`, `beginning VALUE`, `files BEHIND
  /// PATTERN`, `folders BEHIND`.
  private static func answerZsh(_ arguments: [String], _ names: (NameKind, String?) -> [String]) -> String {
    guard let word = arguments.last else { return "" }
    let completion = Completion(word, after: Array(arguments.dropLast()), names: names)
    var lines: [[String]] = completion.prefix.isEmpty ? [] : [["prefix", completion.prefix]]
    for proposal in completion.proposals {
      lines.append(
        proposal.isBeginning ? ["beginning", proposal.value] : ["word", proposal.value, proposal.summary])
    }
    for files in completion.files {
      if files.isFolder {
        lines.append(["folders", files.behind])
      } else {
        let all = files.extensions.flatMap { [$0, $0.uppercased()] }
        lines.append(["files", files.behind, all.isEmpty ? "" : "*.(\(all.joined(separator: "|")))"])
      }
    }
    return lines.map { $0.joined(separator: "\t") + "\n" }.joined()
  }

  // MARK: fish

  private static let fishScript = """
    # fish completion of roomtone, printed by 'roomtone completion fish'.
    function __roomtone_complete
        set -l words (commandline -opc)
        set -l program $words[1]
        set -e words[1]
        command $program __complete fish $words (commandline -ct) 2>/dev/null
    end
    complete -c roomtone -f -a '(__roomtone_complete)'

    """

  /// Returns a line for each value, with its summary after a tab.
  private static func answerFish(
    _ arguments: [String], _ home: String?, _ names: (NameKind, String?) -> [String]
  ) -> String {
    guard let token = arguments.last else { return "" }
    // Only the token under the cursor still has its quotes.
    let word = ShellLine(token, breaks: "").word
    let completion = Completion(word, after: Array(arguments.dropLast()), names: names)
    let value = String(word.dropFirst(completion.prefix.count))
    let paths = completion.files.flatMap { FileProposals.find($0, for: value, home: home) }
    let lines =
      completion.proposals.map { $0.summary.isEmpty ? $0.value : "\($0.value)\t\($0.summary)" } + paths
    return lines.map { "\(completion.prefix)\($0)\n" }.joined()
  }
}
