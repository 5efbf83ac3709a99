internal import EventLoop
internal import LuaModules
internal import LuaRuntime
internal import StreamKit

// `recordings { … }`: where recordings go, and how long they stay.

extension Configuration {
  static func readRecordings(_ configuration: inout Configuration, _ call: LuaCall) throws {
    let options = try call.options(1, ["folder", "template", "keep", "min_free"])
    if let folder = try options.path("folder") { configuration.recordings.folder = folder }
    if let template = try options.string("template") {
      do throws(TemplateError) { _ = try RecordingTemplate(template) } catch {
        throw options.problem("template", error.message, hint: error.hint)
      }
      configuration.recordings.template = template
    }
    if let keep = try options.duration("keep") {
      guard keep > .zero else {
        throw options.problem("keep", "more than 0 expected: leave it out to keep all recordings")
      }
      configuration.recordings.keep = keep
    }
    if let bytes = try options.byteSize("min_free") { configuration.recordings.minimumFree = bytes }
  }
}
