internal import Glibc
internal import Synchronization

/// A fixed number of threads that run jobs in the order in which they come. They end with the process.
final class WaitingThreads: TaskExecutor {
  /// The threads of `ROOMTONE_TEST_THREADS`; nil for none.
  static let shared: WaitingThreads? = {
    guard let text = getenv("ROOMTONE_TEST_THREADS"), let count = Int(String(cString: text)), count > 0 else {
      return nil
    }
    return WaitingThreads(count: min(count, 64))
  }()

  private struct Job: @unchecked Sendable {
    // Unchecked: a job is handed over to one thread, which runs it once.
    let job: UnownedJob
  }

  private let jobs = Mutex<[Job]>([])
  /// A pipe with a byte for each job; a thread reads one before it runs one.
  private let (output, input): (CInt, CInt)

  private init(count: Int) {
    var ends: [CInt] = [-1, -1]
    precondition(pipe(&ends) == 0, "the system has no descriptor left for tests")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (output, input) = (ends[0], ends[1])
    for _ in 0..<count { startThread() }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = Job(job: UnownedJob(job))
    jobs.withLock { $0.append(job) }
    var byte: UInt8 = 0
    let written = write(input, &byte, 1)
    precondition(written == 1, "a job of a test is lost")
  }

  private func startThread() {
    var thread = pthread_t()
    let this = Unmanaged.passUnretained(self).toOpaque()  // `shared` keeps it to the end of the process
    let failure = pthread_create(
      &thread, nil,
      { this in
        if let this { Unmanaged<WaitingThreads>.fromOpaque(this).takeUnretainedValue().run() }
        return nil
      }, this)
    precondition(failure == 0, "the system has no thread left for tests")
    pthread_detach(thread)
  }

  private func run() -> Never {
    while true {
      var byte: UInt8 = 0
      guard read(output, &byte, 1) == 1 else { continue }
      let next = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      next?.job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
