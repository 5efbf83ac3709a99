-- The behaviour of zones. "west" is the living room (25 and 25), the kitchen (22) and the bathroom (20).

local log = require "log"
local speaker = require "speaker"
local store = require "store"
local task = require "task"

-- Warnings of the module.
local warnings = 0
package.loaded.log = setmetatable({
  warn = function()
    warnings = warnings + 1
  end,
}, { __index = log })
local zone = require "zone"

speaker.open { add_all = true }
package.loaded.log = log

local function west()
  return zone.define("west", { "Living Room", "Kitchen", speaker.device "Bathroom" })
end

-- Returns the volumes of the zone's speakers, a moment later.
local function volumes(z)
  task.sleep(0.1)
  local list = {}
  for index, device in ipairs(z.devices) do
    list[index] = device.volume
  end
  return list
end

describe("zone", function()
  it("has a name, speakers and their mean volume, and is one object", function()
    local z = west()
    expect(z.name):to_equal "west"
    expect(#z.devices):to_equal(4)
    expect(z.volume):to_equal(23)
    expect(zone.get "west" == z):to_be_true()
    expect(tostring(z)):to_equal "zone \"west\" (4 speakers)"
  end)

  it("keeps the balance through full and zero, and back", function()
    local z = west()
    z:set_volume(33)
    expect(volumes(z)):to_equal { 35, 35, 32, 30 }
    z:set_volume(50)
    expect(volumes(z)):to_equal { 50, 50, 49, 47 }
    expect(z.volume):to_equal(50)
    z:set_volume(0)
    expect(volumes(z)):to_equal { 0, 0, 0, 0 }
    z:set_volume(2)
    expect(volumes(z)):to_equal { 4, 4, 1, 0 }
    z:set_volume(23)
    expect(volumes(z)):to_equal { 25, 25, 22, 20 }
  end)

  it("keeps the balance when it is set several times at once", function()
    local z = west()
    z:set_volume(50)
    z:set_volume(0)
    z:set_volume(33)
    expect(volumes(z)):to_equal { 35, 35, 32, 30 }
  end)

  it("adopts the balance that somebody sets, and unmutes", function()
    local z = west()
    z:set_volume(33)
    speaker.device("Kitchen"):set_volume(40)
    expect(z.volume):to_equal(35)
    speaker.device("Bathroom"):mute()
    z:set_volume(25)
    expect(volumes(z)):to_equal { 25, 25, 30, 20 }
    expect(speaker.device("Bathroom").muted):to_equal(false)
  end)

  it("reaches a speaker that is away when it is back, in balance", function()
    local z, kitchen, house = west(), speaker.device "Kitchen", speaker.house()
    house:unplug(kitchen)
    z:set_volume(33)
    task.sleep(1)
    house:plug(kitchen)
    expect(volumes(z)):to_equal { 35, 35, 32, 30 }
    z:set_volume(23)
    expect(volumes(z)):to_equal { 25, 25, 22, 20 }
  end)

  it("survives new names of its speakers, and speakers that are removed", function()
    local z = west()
    speaker.device("Kitchen"):set_name "Galley"
    speaker.house():remove(speaker.device "Bathroom")
    z:set_volume(33)
    expect(volumes(z)):to_equal { 35, 35, 32 }
  end)

  it("is kept in the store, balance and all", function()
    west():set_volume(0)
    local kept = store.get "zone.west"
    expect(#kept.ids):to_equal(4)
    store.set("zone.copy", kept)
    local copy = zone.get "copy"
    copy:set_volume(23)
    expect(volumes(copy)):to_equal { 25, 25, 22, 20 }
  end)

  it("joins a session, all its speakers or none", function()
    local z = west()
    local session = speaker.session { name = "jazz" }
    z:join(session)
    expect(#session.devices):to_equal(4)
    z:join()
    expect(#session.devices):to_equal(0)
    local bath = speaker.session { devices = "Bathroom", priority = 500 }
    bath:play("../simulation/station.mp3", { loop = true })
    session:play("../simulation/station.mp3", { loop = true, rooms = "Kitchen" })
    expect(function()
      z:join(session)
    end):to_raise "speaker.outranked"
    expect(#session.devices):to_equal(1)
    expect(#speaker.own.devices):to_equal(4)
    expect(#bath.devices):to_equal(1)
  end)

  it("plays on a session of its own, also after somebody has closed that", function()
    local z = west()
    speaker.play_stream "http://radio.example/day.mp3"
    z:play("http://radio.example/jazz.mp3", { title = "jazz" })
    expect(#speaker.own.devices):to_equal(2)
    expect(speaker.is_playing()):to_be_true()
    local kitchen = speaker.device "Kitchen"
    expect(kitchen.is_playing):to_be_true()
    local session = kitchen:wait("time").session
    expect(session.name):to_equal "west"
    expect(session.closed):to_be_false()
    session:close()
    expect(session.closed):to_be_true()
    expect(kitchen.active):to_equal(false)
    z:play "../simulation/station.mp3"
    expect(kitchen.is_playing):to_be_true()
  end)

  it("gives its speakers back if it can't play", function()
    local z = west()
    speaker.play_stream "http://radio.example/day.mp3"
    expect(function()
      z:play "missing.mp3"
    end):to_raise "audio.not_found"
    expect(#speaker.own.devices):to_equal(6)
    expect(speaker.device("Kitchen").is_playing):to_be_true()
  end)

  it("logs a removed speaker once, and raises if all are removed", function()
    local z, one = west(), zone.define("one", { "Kitchen" })
    local before = warnings
    speaker.house():remove(speaker.device "Kitchen")
    for _ = 1, 3 do
      expect(#z.devices):to_equal(3)
      expect(z.volume):to_equal(23)
    end
    expect(warnings - before):to_equal(1)
    for name, argument in pairs { set_volume = 10, join = speaker.own, play = "x.mp3" } do
      local _, err = task.try(function()
        one[name](one, argument)
      end)
      expect(err.code):to_equal "speaker.unavailable"
      expect(tostring(err)):to_match "zone_spec.lua:%d+: no speaker of the zone \"one\" is in the house"
    end
    expect(one.volume):to_equal(22)
    expect(#one.devices):to_equal(0)
  end)

  it("raises at the script's line for wrong arguments and a damaged value of the store", function()
    local z = west()
    local function message(fn)
      local text = tostring(select(2, task.try(fn)))
      expect(text):to_match "zone_spec.lua:%d+: "
      return text
    end
    expect(message(function()
      z:set_volume("20")
    end)):to_contain "bad argument #1 to 'set_volume' (whole number from 0 to 50 expected, got string)"
    expect(message(function()
      z:play { "a.mp3" }
    end)):to_contain "bad argument #1 to 'play' (file, URL or stream expected, got table)"
    expect(message(function()
      z:play("http://radio.example/day.mp3", { start = 3 })
    end)):to_contain "bad argument #2 to 'play' (no option is called 'start'"
    expect(message(function()
      zone.define("z\0", { "Kitchen" })
    end)):to_contain "bad argument #1 to 'define' (text without control characters expected)"
    local ids = { speaker.device("Kitchen").id }
    for _, wrong in ipairs {
      3, {}, { ids = 5 }, { ids = {}, level = 5, offsets = {}, volumes = {} },
      { ids = ids, level = "5", offsets = {}, volumes = {} },
      { ids = ids, level = 5, offsets = {}, volumes = { [ids[1]] = 22 } },
    } do
      store.set("zone.wrong", wrong)
      expect(message(function()
        expect(zone.get("wrong").volume):to_equal(0)
      end)):to_contain "the store's value 'zone.wrong' is not a zone (zone.unknown); define the zone again"
    end
  end)

  it("raises for rooms and zones that do not exist, and for wrong volumes", function()
    expect(function()
      local z = zone.get "west"
      return z
    end):to_raise "no zone is called 'west', as no zone is defined"
    west()
    expect(function()
      zone.define("x", { "Attic" })
    end):to_raise "speaker.unknown"
    expect(function()
      zone.define("x", {})
    end):to_raise "at least one speaker expected"
    expect(function()
      zone.define("", { "Kitchen" })
    end):to_raise "1 to 100 bytes of UTF-8 expected"
    expect(function()
      local z = zone.get "wst"
      return z
    end):to_raise "no zone is called 'wst'; did you mean 'west'"
    expect(function()
      local z = zone.get "wst"
      return z
    end):to_raise "zone.unknown"
    expect(function()
      zone.get("west"):set_volume(51)
    end):to_raise "whole number from 0 to 50 expected, got 51"
    expect(function()
      zone.get("west"):join(5)
    end):to_raise "bad argument #1 to 'join' (session expected, got number)"
  end)
end)
