internal import Glibc

exit(Command.main(Array(CommandLine.arguments.dropFirst())))
