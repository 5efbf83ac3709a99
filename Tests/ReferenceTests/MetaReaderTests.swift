import Reference
import TestTraits
import Testing

@Suite("The reader of definitions", .tags(.help)) struct MetaReaderTests {
  private static let text = """
    ---@meta radio

    -- Radios: they play. And more of it.
    --
    --   local radio = require "radio"
    --   radio.play("a")
    --
    -- Every function raises `radio.off`
    -- (no current), too.

    error("description")

    ---@class radiolib
    local radio = {}

    ---The loudest volume.
    radio.MAX = 11

    ---The set that plays.
    ---@type radio.Set
    radio.now = nil

    ---A name of a band, on
    ---two lines.
    ---@alias radio.Band
    ---| "fm" # clear.
    ---| "am"

    ---@class radio.Base
    ---@field title? string Title (default: `"none (yet)"`).

    ---@class radio.Options: radio.Base
    ---@field band? radio.Band|"lw" Band.
    --- More of it.
    ---@field over Duration Length.

    ---Plays a file. Second sentence. Raises `radio.lost` (gone, `f(x)`
    ---too), `argument`, and the errors of `stop`.
    ---
    ---    radio.play "a"
    ---@async
    ---@param path string|string[] Path.
    ---@param options? radio.Options
    ---@param ... any
    ---@return boolean ok True if it works.
    ---@return { left: number, right?: integer }
    ---@overload fun(path: "a", then: async fun(x: string): boolean): number, string?
    function radio.play(path, options, ...) end

    ---Stops. Raises `radio.stopped`.
    ---@deprecated Use `pause`.
    function radio.stop() end

    ---@alias radio.EventName
    ---| "done" # `{at, why}`: it is over.
    ---| "failed" # `radio.Options`: it has failed.

    ---A set.
    ---@class radio.Set
    ---@field on_air boolean
    local Set = {}

    ---Listens. Raises as `Set:wait`.
    ---@param event radio.EventName
    function Set:on(event) end

    ---Waits. Raises what `radio.play` raises; `radio.wait`.
    function Set:wait() end

    return radio
    """

  private let reference = Reference.load(from: [("radio.lua", Self.text)])

  @Test("reads a module with its summary, its example and the codes of all its functions") func module()
    throws
  {
    let module = try #require(reference.module("radio"))
    #expect(module.summary == "Radios: they play.")
    #expect(module.text.count == 3)
    #expect(module.example == ["local radio = require \"radio\"", "radio.play(\"a\")"])
    #expect(module.raises == [ReferenceRaise(code: "radio.off", reason: "no current")])
    #expect(reference.problems.isEmpty)
    #expect(reference.values(of: "radio").map(\.value) == ["11", "nil"])
    #expect(reference.values(of: "radio").map { $0.type?.text } == [nil, "radio.Set"])
  }

  @Test("reads a function with parameters, results, another form, errors and an example") func function()
    throws
  {
    let play = try #require(reference.function("radio.play"))
    #expect(play.summary == "Plays a file. Second sentence.")
    #expect(play.suspends && !play.isMethod && play.shortName == "play" && play.owner == "radio")
    #expect(play.parameters.map(\.name) == ["path", "options", "..."])
    #expect(play.parameters.map(\.isOptional) == [false, true, false])
    #expect(play.parameters[0].type.text == "string|string[]" && play.parameters[0].text == "Path.")
    #expect(play.returns.map(\.name) == ["ok", ""])
    #expect(play.returns[1].type.fields?.map(\.name) == ["left", "right"])
    #expect(play.returns[1].type.fields?.map(\.isOptional) == [false, true])
    let overload = try #require(play.overloads.first)
    #expect(overload.parameters.map(\.name) == ["path", "then"])
    #expect(overload.parameters[1].type.signature?.suspends == true)
    #expect(overload.returns.map(\.description) == ["number", "string?"])
    #expect(play.example == ["radio.play \"a\""])
    #expect(play.raises.map(\.code) == ["radio.lost", "argument"])
    #expect(play.raises[0].reason == "gone, `f(x)` too")
    #expect(reference.function("radio.stop")?.deprecated == "Use `pause`.")
    #expect(reference.function("radio.stop")?.raisesText == "Raises `radio.stopped`.")
  }

  @Test("follows names of functions to the codes that they raise") func codes() {
    let all = ["argument", "radio.lost", "radio.off", "radio.stopped", "radio.wait"]
    #expect(reference.codes(of: "radio.Set:on").map(\.code) == all)
    #expect(reference.codes == all)
    #expect(reference.functions(raising: "radio.wait").map(\.name) == ["radio.Set:wait"])
  }

  @Test("reads options with those of the parent, defaults, and texts that a type accepts") func options() {
    let options = reference.options(of: "radio.play")
    #expect(options.map(\.name) == ["title", "band", "over"])
    #expect(options.map(\.isOptional) == [true, true, false])
    #expect(options[0].defaultText == "`\"none (yet)\"`")
    #expect(options[1].text == "Band. More of it.")
    #expect(reference.literals(of: options[1].type).map(\.text) == ["fm", "am", "lw"])
    #expect(reference.alias("radio.Band")?.text == [.paragraph("A name of a band, on two lines.")])
    #expect(reference.alias("radio.Band")?.values.map(\.meaning) == ["clear.", ""])
  }

  @Test("reads classes with methods, and the events of an object with their payloads") func classes() {
    #expect(reference.class("radio.Set")?.isObject == true)
    #expect(reference.class("radio.Options")?.isObject == false)
    #expect(reference.functions(of: "radio.Set").map(\.name) == ["radio.Set:on", "radio.Set:wait"])
    #expect(reference.method(class: "radio.Set", name: "on")?.isMethod == true)
    let events = reference.events(of: "radio.Set")
    #expect(events.map(\.name) == ["done", "failed"])
    #expect(events.map(\.text) == ["it is over.", "it has failed."])
    #expect(events[0].fields.map(\.name) == ["at", "why"])
    #expect(events[1].payload == "radio.Options" && events[1].fields.count == 3)
  }

  @Test("reports lines that it can't read, with their positions")
  func problems() {
    let text = """
      ---Plays.
      ---@param a string
      function play(b) end

      ---@unheard of
      function stop() end

      ---Text of nothing.

      ---@field x string
      ---Again.
      function stop() end
      """
    let problems = Reference.load(from: [("a.lua", text)]).problems
    #expect(
      problems.map(\.location) == ["a.lua:3", "a.lua:5", "a.lua:6", "a.lua:9", "a.lua:10", "a.lua:12"])
  }
}
