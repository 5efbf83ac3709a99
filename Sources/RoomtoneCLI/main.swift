internal import Glibc

FileLimit.raise()
let arguments = Array(CommandLine.arguments.dropFirst())
ProcessArguments.hideSecrets()
exit(Command.main(arguments))
