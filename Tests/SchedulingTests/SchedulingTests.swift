// SchedulingTests
