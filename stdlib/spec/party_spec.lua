-- The behaviour of parties, in the demonstration house: all speakers are in the own session.

local party = require "party"
local speaker = require "speaker"
local task = require "task"

speaker.open { add_all = true }

local function play(session)
  session:play_stream "http://radio.example/dance.mp3"
end

-- Returns a session that plays a file in the bathroom, over and over.
local function bathroom()
  local session = speaker.session { name = "bath", devices = "Bathroom" }
  session:play("../simulation/station.mp3", { loop = true })
  return session
end

describe("party.start", function()
  it("plays in all rooms at one volume, until stop restores each", function()
    local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
    kitchen:leave()
    bath:mute()
    task.sleep(1)
    play(speaker.own)
    local night = party.start { volume = 35 }
    task.sleep(1)
    for _, device in ipairs(speaker.devices()) do
      expect(device.volume):to_equal(35)
      expect(device.is_playing):to_be_true()
      expect(device.muted):to_equal(false)
    end
    expect(#night.devices):to_equal(6)
    night:stop()
    task.sleep(1)
    expect(kitchen.active):to_equal(false)
    expect(kitchen.volume):to_equal(22)
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    expect(bath.muted):to_be_true()
    expect(bath.volume):to_equal(20)
    expect(speaker.is_playing()):to_be_true()
    expect(night.active):to_equal(false)
  end)

  it("stops the music that was started for it, in a house that was silent", function()
    local night = party.start { volume = 35 }
    play(speaker.own)
    task.sleep "1h"
    expect(speaker.is_playing()):to_be_true()
    night:stop()
    task.sleep(1)
    expect(speaker.is_playing()):to_be_false()
    expect(speaker.device("Kitchen").is_playing):to_be_false()
    expect(#speaker.own.devices):to_equal(6)
  end)

  it("lets the music of before continue that another one has replaced, and a pause last", function()
    local session = speaker.own
    session:play("../simulation/station.mp3", { loop = true, title = "before" })
    task.sleep "5s"
    local position = session:position()
    local night = party.start {}
    play(session)
    task.sleep "1h"
    night:stop()
    expect(tostring(session)):to_match "before"
    expect(session:position()):to_be_near(position, 1)
    session:pause()
    local second = party.start {}
    session:resume()
    task.sleep "1m"
    second:stop()
    expect(session:state()):to_equal "paused"
  end)

  it("leaves a house silent whose music somebody has stopped meanwhile", function()
    play(speaker.own)
    local night = party.start {}
    speaker.stop()
    night:stop()
    expect(speaker.is_playing()):to_be_false()
  end)

  it("leaves a volume that somebody sets meanwhile, and mute, also in the sessions of before", function()
    local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
    local left = speaker.device "Bedroom Left"
    play(speaker.own)
    local session = bathroom()
    local night = party.start { volume = 35 }
    task.sleep "1m"
    kitchen:set_volume(40)
    bath:set_volume(10)
    left:mute()
    task.sleep "1m"
    night:stop()
    task.sleep(1)
    expect(kitchen.volume):to_equal(40)
    expect(bath.volume):to_equal(10)
    expect(session:state()):to_equal "playing"
    expect(left.muted):to_be_true()
    expect(speaker.device("Bedroom Right").volume):to_equal(18)
  end)

  it("keeps volumes if none is given", function()
    play(speaker.own)
    local night = party.start {}
    task.sleep(1)
    expect(speaker.device("Kitchen").volume):to_equal(22)
    night:stop()
    expect(speaker.is_playing()):to_be_true()
  end)

  it("interrupts the music of another session, which continues from its position after the party", function()
    play(speaker.own)
    local session = bathroom()
    task.sleep(3)
    local position = session:position()
    local night = party.start { volume = 20 }
    expect(session:state()):to_equal "stopped"
    task.sleep "1h"
    night:stop()
    expect(session:state()):to_equal "playing"
    expect(session:position()):to_be_near(position, 1)
    expect(#session.devices):to_equal(1)
    expect(#speaker.own.devices):to_equal(5)
  end)

  it("takes another session as that of the party", function()
    local session = bathroom()
    local night = party.start { session = session }
    expect(#session.devices):to_equal(6)
    night:stop()
    expect(#session.devices):to_equal(1)
    expect(session:state()):to_equal "playing"
    expect(#speaker.own.devices):to_equal(5)
  end)

  it("lets a speaker join that is added during the party, and leave after it", function()
    play(speaker.own)
    local night = party.start { volume = 35 }
    local attic = speaker.house():add { name = "Attic", volume = 10 }
    task.sleep(1)
    expect(attic.is_playing):to_be_true()
    expect(attic.volume):to_equal(35)
    night:stop()
    task.sleep(1)
    expect(attic.active):to_equal(false)
    expect(attic.volume):to_equal(10)
    local cellar = speaker.house():add { name = "Cellar" }
    task.sleep(1)
    expect(cellar.active):to_equal(false)
  end)

  it("reaches a speaker that is away when it is back, at both ends of the party", function()
    local kitchen, bath, house = speaker.device "Kitchen", speaker.device "Bathroom", speaker.house()
    house:unplug(kitchen)
    play(speaker.own)
    local night = party.start { volume = 35 }
    task.sleep(1)
    house:plug(kitchen)
    task.sleep(1)
    expect(kitchen.volume):to_equal(35)
    house:unplug(bath)
    night:stop()
    house:plug(bath)
    task.sleep(1)
    expect(bath.volume):to_equal(20)
    expect(kitchen.volume):to_equal(22)
  end)

  it("changes nothing if a speaker can't join", function()
    play(speaker.own)
    local session = speaker.session { devices = "Bathroom", priority = 500 }
    play(session)
    speaker.device("Kitchen"):leave()
    expect(function()
      local night = party.start { volume = 35 }
      return night
    end):to_raise "speaker.outranked"
    task.sleep(1)
    expect(speaker.device("Kitchen").active):to_equal(false)
    expect(#session.devices):to_equal(1)
    expect(speaker.device("Kitchen").volume):to_equal(22)
  end)

  it("may be stopped twice, and after speakers were removed", function()
    play(speaker.own)
    local night = party.start { volume = 35 }
    speaker.house():remove(speaker.device "Bathroom")
    night:cancel()
    night:stop()
    task.sleep(1)
    expect(speaker.device("Kitchen").volume):to_equal(22)
    expect(select(2, night:wait "done")):to_equal "closed"
  end)

  it("is done when all is restored, also if the routine that stops it is cancelled; one at a time", function()
    play(speaker.own)
    speaker.device("Kitchen"):leave()
    local night = party.start { volume = 35 }
    expect(function()
      party.start {}
    end):to_raise "party.active"
    local done = task.spawn(night.wait, night, "done")
    local stopping = task.spawn(night.stop, night)
    task.sleep(0)
    stopping:cancel()
    expect(done:await().party == night):to_be_true()
    task.sleep(1)
    expect(speaker.device("Bathroom").volume):to_equal(20)
    expect(speaker.device("Kitchen").active):to_equal(false)
    party.start():stop()
  end)

  it("is over when the house is closed: another one may start in the next house", function()
    local night, session = party.start { volume = 35 }, speaker.session()
    speaker.close()
    expect(function()
      night:stop()
    end):to_raise "speaker.closed"
    local _, err = task.try(function()
      party.start { session = session }
    end)
    expect(err.code):to_equal "speaker.closed"
    expect(err.where):to_match "party_spec.lua:%d+$"
    speaker.open()
    local next_night = party.start { volume = 30 }
    expect(next_night.active):to_be_true()
    next_night:stop()
  end)

  it("raises where its options are wrong", function()
    expect(function()
      party.start { volume = 60 }
    end):to_raise "option 'volume' of 'start': whole number from 0 to 50 expected, got 60"
    expect(function()
      party.start { room = "Kitchen" }
    end):to_raise "no option of 'start' is called 'room'"
    expect(function()
      party.start { session = 5 }
    end):to_raise "session expected, got number"
  end)
end)
