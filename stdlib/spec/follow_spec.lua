-- The behaviour of music that follows. `at` puts the own session into rooms, where it plays a station.

local follow = require "follow"
local speaker = require "speaker"
local task = require "task"

speaker.open { add_all = true }

local function at(...)
  for _, device in ipairs(speaker.devices()) do
    device:leave()
  end
  for _, name in ipairs { ... } do
    speaker.group(name):join()
  end
  speaker.play_stream "http://radio.example/day.mp3"
end

local function names()
  local list = {}
  for index, device in ipairs(speaker.own.devices) do
    list[index] = device.name
  end
  return table.concat(list, ", ")
end

-- Begins an announcement of five seconds in a room; a second of it has passed.
local function announced(room)
  local announcement = task.spawn(speaker.interrupt, {
    devices = room, play = function()
      task.sleep(5)
    end,
  })
  task.sleep(1)
  return announcement
end

describe("follow.to", function()
  it("joins the room before the old one leaves; volumes stay, and nothing stops", function()
    at "Kitchen"
    local ended = 0
    speaker.on("ended", function()
      ended = ended + 1
    end)
    local move = task.spawn(follow.to, { "Bedroom", overlap = "3s", session = speaker.own })
    task.sleep(2)
    expect(names()):to_equal "Kitchen, Bedroom Left, Bedroom Right"
    move:await()
    expect(names()):to_equal "Bedroom Left, Bedroom Right"
    expect(speaker.is_playing()):to_be_true()
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    expect(ended):to_equal(0)
  end)

  it("overlaps for a second by itself", function()
    at "Kitchen"
    local began = task.now()
    follow.to { speaker.group "Bathroom", session = speaker.own }
    expect(task.now() - began):to_be_near(1, 0.1)
    expect(names()):to_equal "Bathroom"
  end)

  it("does nothing for the room that has the music", function()
    at "Kitchen"
    follow.to { "Kitchen", overlap = 0, session = speaker.own }
    expect(names()):to_equal "Kitchen"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("moves another session, and takes a room from the own one", function()
    at("Kitchen", "Bathroom")
    local session = speaker.session { devices = "Bedroom" }
    session:play_stream "http://radio.example/other.mp3"
    follow.to { "Bathroom", session = session }
    expect(#session.devices):to_equal(1)
    expect(session:is_playing()):to_be_true()
    expect(names()):to_equal "Kitchen"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("leaves the music where it is if a higher priority has the room", function()
    at "Kitchen"
    local session = speaker.session { devices = "Bedroom Right", priority = 500 }
    session:play_stream "http://radio.example/other.mp3"
    expect(function()
      follow.to { "Bedroom", session = speaker.own }
    end):to_raise "speaker.outranked"
    expect(names()):to_equal "Kitchen"
    expect(#speaker.own.rooms):to_equal(1)
    expect(speaker.is_playing()):to_be_true()
    expect(#session.devices):to_equal(1)
  end)

  it("moves what plays in a room, whoever plays it; other rooms of that music stay", function()
    at("Kitchen", "Bathroom")
    local session = speaker.session { devices = "Bedroom" }
    session:play_stream "http://radio.example/other.mp3"
    follow.to { "Living Room", from = "Bedroom" }
    expect(#session.devices):to_equal(2)
    expect(session.devices[1].group_name):to_equal "Living Room"
    follow.to { "Bedroom", from = "Kitchen" }
    expect(names()):to_equal "Bedroom Left, Bedroom Right, Bathroom"
    expect(session:is_playing() and speaker.is_playing()):to_be_true()
  end)

  it("moves music that an announcement interrupts in the old room", function()
    at "Kitchen"
    local announcement = announced "Kitchen"
    follow.to { "Bathroom", from = "Kitchen" }
    announcement:await()
    expect(names()):to_equal "Bathroom"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("asks which music is meant", function()
    at "Kitchen"
    expect(function()
      follow.to { "Bathroom" }
    end):to_raise "an option of 'to' is missing: 'from' or 'session'"
    expect(function()
      follow.to { "Bathroom", from = "Kitchen", session = speaker.own }
    end):to_raise "one of the options 'from' and 'session' of 'to' expected, got both"
    expect(function()
      follow.to { "Kitchen", from = "Bathroom" }
    end):to_raise "speaker.no_active_device"
    expect(names()):to_equal "Kitchen"
  end)

  it("leaves the music where it is if the room can't be reached, or is lost during the overlap", function()
    at "Kitchen"
    local bath, house = speaker.device "Bathroom", speaker.house()
    house:unplug(bath)
    expect(function()
      follow.to { "Bathroom", session = speaker.own }
    end):to_raise "speaker.unavailable"
    expect(names()):to_equal "Kitchen"
    house:plug(bath)
    local move = task.spawn(task.try, follow.to, { "Bathroom", overlap = "5s", session = speaker.own })
    task.sleep(2)
    house:unplug(bath)
    expect(select(2, move:await()).code):to_equal "speaker.unavailable"
    expect(names()):to_equal "Kitchen"
    house:plug(bath)
    task.sleep(1)
    expect(names()):to_equal "Kitchen"
    expect(bath.active):to_be_false()
    expect(speaker.is_playing()):to_be_true()
  end)

  it("keeps the old room alone when it is cancelled during the overlap", function()
    at "Kitchen"
    local bath = speaker.device "Bathroom"
    local move = task.spawn(follow.to, { "Bathroom", overlap = "5s", session = speaker.own })
    task.sleep(2)
    bath:set_volume(7)
    task.sleep(1)
    move:cancel()
    task.sleep(10)
    expect(names()):to_equal "Kitchen"
    expect(bath.active):to_be_false()
    expect(bath.volume):to_equal(7)
  end)

  it("gives a room back to its session when it is cancelled during the overlap", function()
    at "Kitchen"
    local bath = speaker.device "Bathroom"
    local session = speaker.session { devices = { "Bathroom", "Bedroom Left" } }
    session:play("../simulation/station.mp3", { loop = true })
    local move = task.spawn(follow.to, { { "Bathroom", "Bedroom" }, overlap = "5s", session = speaker.own })
    task.sleep(2)
    expect(session:state()):to_equal "stopped"
    bath:set_volume(7)
    task.sleep(1)
    move:cancel()
    task.sleep(1)
    expect(names()):to_equal "Kitchen"
    expect(#session.devices):to_equal(2)
    expect(session:is_playing()):to_be_true()
    expect(bath.volume):to_equal(7)
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
  end)

  it("leaves a room where somebody else has taken it during the overlap", function()
    at "Kitchen"
    local session = speaker.session()
    local move = task.spawn(follow.to, { { "Bathroom", "Bedroom" }, overlap = "5s", session = speaker.own })
    task.sleep(2)
    session:play_stream("http://radio.example/other.mp3", { rooms = "Bathroom" })
    move:cancel()
    task.sleep(1)
    expect(names()):to_equal "Kitchen"
    expect(session.devices):to_equal { speaker.device "Bathroom" }
  end)

  it("keeps the old room if the new one leaves during the overlap", function()
    at "Kitchen"
    local move = task.spawn(task.try, follow.to, { "Bathroom", overlap = "5s", session = speaker.own })
    task.sleep(2)
    speaker.device("Bathroom"):leave()
    expect(select(2, move:await()).message):to_contain "is in the session any more"
    expect(names()):to_equal "Kitchen"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("continues when an earlier move to the same room is cancelled", function()
    at "Kitchen"
    local first = task.spawn(follow.to, { "Bathroom", overlap = "5s", session = speaker.own })
    task.sleep(1)
    local second = task.spawn(follow.to, { "Bathroom", overlap = "5s", session = speaker.own })
    task.sleep(1)
    first:cancel()
    second:await()
    expect(names()):to_equal "Bathroom"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("ends in the last room when two moves meet", function()
    at "Kitchen"
    local first = task.spawn(follow.to, { "Bathroom", overlap = "2s", session = speaker.own })
    task.sleep(1)
    follow.to { "Bedroom", overlap = "2s", session = speaker.own }
    first:await()
    expect(names()):to_equal "Bedroom Left, Bedroom Right"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("does not return the music to an old room that has an announcement during the move", function()
    at "Kitchen"
    local announcement = announced "Kitchen"
    expect(speaker.own.lent):to_equal { speaker.device "Kitchen" }
    follow.to { "Bathroom", session = speaker.own }
    expect(names()):to_equal "Bathroom"
    announcement:await()
    expect(names()):to_equal "Bathroom"
    expect(speaker.device("Kitchen").active):to_be_false()
    expect(speaker.is_playing()):to_be_true()
  end)

  it("leaves an announcement alone in the new room, which the session has lent", function()
    at("Kitchen", "Bathroom")
    local heard
    local announcement = task.spawn(speaker.interrupt, {
      devices = "Bathroom", play = function(session)
        task.sleep(5)
        heard = session.devices
      end,
    })
    task.sleep(1)
    follow.to { "Bathroom", session = speaker.own }
    announcement:await()
    expect(heard):to_equal { speaker.device "Bathroom" }
    expect(names()):to_equal "Bathroom"
    expect(speaker.is_playing()):to_be_true()
  end)

  it("raises as elsewhere if the library's function itself is a task", function()
    local _, err = task.try(function()
      task.spawn(follow.to, { "Kitchn", session = speaker.own }):await()
    end)
    expect(err.code):to_equal "speaker.unknown"
    _, err = task.try(function()
      task.spawn(follow.to, { "Kitchen", room = 1, session = speaker.own }):await()
    end)
    expect(tostring(err)):to_match "no option of 'to' is called 'room'"
  end)

  it("raises for a room that does not exist and for a closed session", function()
    expect(function()
      follow.to { "Kitchn", session = speaker.own }
    end):to_raise "speaker.unknown"
    expect(function()
      follow.to {}
    end):to_raise "value 1 in the options of 'to' is missing"
    expect(function()
      follow.to { "Kitchen", overlap = 1e300, session = speaker.own }
    end):to_raise "option 'overlap' of 'to': at most a hundred years expected, got 1e+300"
    local session = speaker.session()
    session:close()
    expect(function()
      follow.to { "Kitchen", session = session }
    end):to_raise "speaker.closed"
    expect(#speaker.own.devices):to_equal(6)
  end)
end)
