internal import Glibc

/// The process's limit of open files: a thousand recorded stations need two thousand, and shells allow
/// programs 1,024 unless they request more.
enum FileLimit {
  /// Raises the limit to the system's maximum; on failure it remains unchanged.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
