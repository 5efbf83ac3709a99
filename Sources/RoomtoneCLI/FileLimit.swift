internal import Glibc

/// How many files the process may have open: a thousand stations that are recorded are two thousand, and shells let
/// programs have 1,024 unless they ask for more.
enum FileLimit {
  /// Asks for as many as the system allows. Where it does not, all stays as it is.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
