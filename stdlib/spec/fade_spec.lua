-- The behaviour of fades. Each `it` begins with the demonstration house: Kitchen at 22, Bedroom at 18 and 18.

local announce = require "announce"
local fade = require "fade"
local speaker = require "speaker"
local task = require "task"

speaker.open { add_all = true }

-- Returns the times, in seconds from now, at which a speaker reaches each volume, in a table that fills up.
local function steps_of(device)
  local began, times = task.now(), {}
  device:on("volume", function(event)
    times[event.volume] = task.now() - began
  end)
  return times
end

describe("fade.volume", function()
  it("takes equal times for equal steps, and is done when the last has taken effect", function()
    local kitchen = speaker.device "Kitchen"
    local times = steps_of(kitchen)
    local rise = fade.volume { kitchen, to = 32, over = "10s" }
    expect(rise.active):to_be_true()
    task.sleep(5.1)
    expect(kitchen.volume):to_equal(27)
    expect(rise.progress):to_be_near(0.51, 0.01)
    local event = rise:wait "done"
    expect(kitchen.volume):to_equal(32)
    expect(event.devices):to_equal { kitchen }
    expect(event.fade == rise):to_be_true()
    for volume = 23, 32 do
      expect(times[volume]):to_be_near(volume - 22, 0.02)
    end
    expect(rise.active):to_equal(false)
    expect(rise.progress):to_equal(1.0)
  end)

  it("keeps the sum of the powers of two rooms with equal_power", function()
    local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
    kitchen:set_volume(40)
    bath:set_volume(0)
    fade.volume { kitchen, to = 0, over = "10s", curve = "equal_power" }
    local rise = fade.volume { bath, to = 40, over = "10s", curve = "equal_power" }
    local function power(device)
      return device.volume == 0 and 0 or 10 ^ (0.09 * (device.volume - 40))
    end
    task.sleep(2.55)
    expect(bath.volume):to_be_near(30, 1) -- 40 and a power of sin² 22.5°, -8.3 dB
    for _ = 1, 7 do
      task.sleep(1)
      expect(power(kitchen) + power(bath)):to_be_near(1, 0.23) -- a step is 0.9 dB
    end
    rise:wait "done"
    expect(kitchen.volume):to_equal(0)
    expect(bath.volume):to_equal(40)
  end)

  it("begins at a volume that was set a moment before", function()
    local kitchen = speaker.device "Kitchen"
    kitchen:set_volume(40)
    local event = fade.volume({ kitchen, to = 10, over = 3 }):wait "done"
    expect(event.devices):to_equal { kitchen }
    expect(kitchen.volume):to_equal(10)
  end)

  it("leaves a speaker alone whose volume somebody sets, and the others go on", function()
    local group = speaker.group "Bedroom"
    local left, right = group.devices[1], group.devices[2]
    local quiet = fade.volume { "Bedroom", to = 8, over = "10s" }
    task.sleep(4.5)
    left:set_volume(30)
    local event = quiet:wait "done"
    expect(left.volume):to_equal(30)
    expect(right.volume):to_equal(8)
    expect(event.devices):to_equal { right }
  end)

  it("keeps the volume that somebody sets just before a step", function()
    local kitchen = speaker.device "Kitchen"
    fade.volume { kitchen, to = 32, over = "10s" }
    task.sleep(2.998)
    kitchen:set_volume(5)
    task.sleep(20)
    expect(kitchen.volume):to_equal(5)
  end)

  it("ends when a speaker is muted", function()
    local kitchen = speaker.device "Kitchen"
    local rise = fade.volume { kitchen, to = 32, over = "10s" }
    task.sleep(3.5)
    kitchen:mute()
    local event = rise:wait "done"
    expect(#event.devices):to_equal(0)
    task.sleep(20)
    expect(kitchen.muted):to_be_true()
    expect(kitchen.volume):to_equal(25)
  end)

  it("stays muted when a speaker is muted while a step is on its way", function()
    local kitchen = speaker.device "Kitchen"
    fade.volume { kitchen, to = 32, over = "10s" }
    task.sleep(3.002)
    kitchen:mute()
    task.sleep(20)
    expect(kitchen.muted):to_be_true()
    expect(kitchen.volume):to_equal(25)
  end)

  it("ends without done when the house is closed", function()
    local rise = fade.volume { "Kitchen", to = 32, over = "10s" }
    task.sleep(3.5)
    speaker.close()
    expect(select(2, rise:wait("done", "1m"))):to_equal "closed"
  end)

  it("gives way to a later fade of the same speaker, begun by this module or by the speaker", function()
    local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
    local first = fade.volume { { kitchen, bath }, to = 50, over = "1m" }
    task.sleep(10)
    fade.volume { "Kitchen", to = 10, over = "5s" }
    bath:fade { to = 0, over = "5s" }
    task.sleep(10)
    expect(kitchen.volume):to_equal(10)
    expect(bath.volume):to_equal(0)
    expect(first.active):to_equal(false)
    expect(first.devices):to_equal {}
  end)

  it("gives a speaker that comes back the volume of that moment", function()
    local kitchen, house = speaker.device "Kitchen", speaker.house()
    local rise = fade.volume { kitchen, to = 32, over = "10s" }
    task.sleep(2.5)
    house:unplug(kitchen)
    task.sleep(5)
    house:plug(kitchen)
    task.sleep(0.1)
    expect(kitchen.volume):to_equal(29)
    rise:wait "done"
    expect(kitchen.volume):to_equal(32)
  end)

  it("gives a speaker that comes back after the end the volume of the end", function()
    local bath, kitchen, house = speaker.device "Bathroom", speaker.device "Kitchen", speaker.house()
    house:unplug(kitchen)
    fade.volume({ { kitchen, bath }, to = 5, over = "2s" }):wait "done"
    house:plug(kitchen)
    task.sleep(1)
    expect(kitchen.volume):to_equal(5)
    kitchen:set_volume(20)
    house:unplug(kitchen)
    house:plug(kitchen)
    task.sleep(1)
    expect(kitchen.volume):to_equal(20)
  end)

  it("follows its session: a speaker that leaves it is left alone", function()
    local session = speaker.session { devices = { "Kitchen", "Bathroom" } }
    local kitchen = speaker.device "Kitchen"
    fade.volume { session, to = 50, over = "28s" }
    task.sleep(3.5)
    kitchen:leave()
    task.sleep(30)
    expect(kitchen.volume):to_equal(25)
    expect(speaker.device("Bathroom").volume):to_equal(50)
  end)

  it("stops at cancel, and emits no done", function()
    local kitchen, count = speaker.device "Kitchen", 0
    local rise = fade.volume { kitchen, to = 32, over = "10s" }
    rise:on("done", function()
      count = count + 1
    end)
    task.spawn(function()
      task.sleep(3.5)
      rise:cancel()
      rise:cancel()
    end)
    local event, why = rise:wait "done"
    expect(event):to_equal(nil)
    expect(why):to_equal "closed"
    task.sleep(20)
    expect(kitchen.volume):to_equal(25)
    expect(count):to_equal(0)
  end)

  it("goes on when the routine that began it is cancelled; a wait ends with it or at its timeout", function()
    local rise
    local beginner = task.spawn(function()
      rise = fade.volume { speaker, to = 32, over = "10s" }
      rise:wait "done"
    end)
    task.sleep(1)
    beginner:cancel()
    expect(select(2, rise:wait("done", "2s"))):to_equal "timeout"
    expect(rise:wait("done", "20s").devices):to_equal(speaker.devices())
    expect(speaker.volume()):to_equal(32)
  end)

  it("gives way to a volume that is set also where that is the volume of this moment", function()
    local kitchen = speaker.device "Kitchen"
    local rise = fade.volume { kitchen, to = 32, over = "10s" }
    task.sleep(5.1)
    kitchen:set_volume(27)
    task.sleep(3)
    expect(kitchen.volume):to_equal(27)
    expect(rise.active):to_equal(false)
  end)

  it("waits for an announcement also where that has the volume of this moment", function()
    local kitchen = speaker.device "Kitchen"
    local rise = fade.volume { kitchen, to = 42, over = "20s" }
    task.sleep(5.1)
    expect(kitchen.volume):to_equal(27)
    local saying = task.spawn(announce.say, {
      ("The door is open. "):rep(5), rooms = "Kitchen", volume = 27, fade = 0,
    })
    task.sleep(3)
    expect(kitchen.volume):to_equal(27)
    saying:await()
    expect(rise:wait("done", "20s").devices):to_equal { kitchen }
    expect(kitchen.volume):to_equal(42)
  end)

  it("is done at once without speakers, and raises where its options are wrong", function()
    local closed = speaker.session { devices = "Kitchen" }
    closed:close()
    expect(#fade.volume({ closed, to = 5, over = "1m" }):wait("done").devices):to_equal(0)
    local function failing(options)
      return function()
        local result = fade.volume(options)
        return result
      end
    end
    expect(failing { "Kitchn", to = 5, over = 1 }):to_raise "speaker.unknown"
    expect(failing { "Kitchen", to = 51, over = 1 }):to_raise "'to' of 'volume': whole number from 0 to 50"
    expect(failing { "Kitchen", to = 5 }):to_raise "option 'over' of 'volume' is missing"
    expect(failing { to = 5, over = 1 }):to_raise "value 1 in the options of 'volume' is missing"
    expect(failing { "Kitchen", volume = 5, over = 1 }):to_raise "no option of 'volume' is called 'volume'"
    expect(failing { "Kitchen", to = 5, over = 1, curve = "round" }):to_raise "linear or equal_power expected"
    expect(failing { 5, to = 5, over = 1 }):to_raise "got number"
    expect(failing { "Kitchen", to = "5", over = 1 }):to_raise "from 0 to 50 expected, got string"
    expect(failing { "Kitchen", to = 5, over = 1e12 }):to_raise "'over' of 'volume': at most a hundred"
    expect(failing { "Kitchen", to = 5, over = "36526d" }):to_raise "a hundred years expected, got 36526d"
    fade.volume({ "Kitchen", to = 5, over = "36525d" }):cancel()
  end)
end)
