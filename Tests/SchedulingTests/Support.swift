import EventLoop
import Glibc
import Scheduling
import Testing

/// Returns a zone of the system's database.
func zone(_ name: String) throws -> ZoneFile { try ZoneFile(named: name) }

func local(_ text: String) throws -> LocalDateTime { try LocalDateTime(parsing: text) }

/// Returns the moment at which the zone's clocks show `text`, for the first time.
func moment(_ text: String, _ zone: any LocalZone) throws -> WallTime { zone.match(try local(text)).moment }

/// Returns the local time with the offset in minutes: `2026-03-29 03:00 +120`.
func shown(_ time: WallTime?, _ zone: any LocalZone) -> String {
  guard let time else { return "never" }
  let minutes = zone.offset(at: Int(time.seconds)) / 60
  return "\(zone.local(time)) \(minutes < 0 ? "" : "+")\(minutes)"
}

/// Returns the first moments of a recurrence after `start`, as text.
func first(_ count: Int, _ recurrence: Recurrence, after start: WallTime, in zone: any LocalZone) -> [String]
{
  var result: [String] = []
  var moment = start
  while result.count < count, let next = recurrence.next(after: moment, in: zone) {
    result.append(shown(next, zone))
    moment = next
  }
  return result
}

/// Returns the output of `date` for each of `moments`, in seconds, in a zone; nil: the zone of the process.
func systemDates(_ moments: [Int], in zone: String?) -> [String] {
  var path = Array("/tmp/roomtone-dates-XXXXXX".utf8CString)
  let fd = mkstemp(&path)
  let text = moments.map { "@\($0)\n" }.joined()
  _ = text.withCString { write(fd, $0, strlen($0)) }
  close(fd)
  defer { unlink(path) }
  let name = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  guard let pipe = popen("\(zone.map { "TZ=\($0) " } ?? "")date -f \(name) '+%Y-%m-%d %H:%M:%S %z'", "r")
  else { return [] }
  defer { pclose(pipe) }
  var lines: [String] = []
  var line = [CChar](repeating: 0, count: 128)
  while fgets(&line, 128, pipe) != nil {
    let text = String(decoding: line.prefix { $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    // "-0000" is how `date` says that local time is not known there.
    lines.append(text.hasSuffix("-0000") ? text.dropLast(5) + "+0000" : text)
  }
  return lines
}

/// Returns a moment in the form of `systemDates`.
func likeSystem(_ seconds: Int, _ zone: any LocalZone) -> String {
  let text = zone.local(WallTime(seconds: Int64(seconds))).description
  let offset = abs(zone.offset(at: seconds)) / 60
  func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let sign = zone.offset(at: seconds) < 0 ? "-" : "+"
  return (text.utf8.count == 16 ? text + ":00" : text) + " \(sign)\(two(offset / 60))\(two(offset % 60))"
}
