internal import Glibc

FileLimit.raise()
exit(Command.main(Array(CommandLine.arguments.dropFirst())))
