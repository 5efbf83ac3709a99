-- The behaviour of sleep timers. `play` begins a station on the own session: all speakers of the house.

local alarm = require "alarm"
local sleep_timer = require "sleep_timer"
local speaker = require "speaker"
local task = require "task"

speaker.open { add_all = true }

local function play()
  speaker.play_stream "http://radio.example/night.mp3"
end

describe("sleep_timer.start", function()
  it("fades the own session out, stops it on time, and restores the volumes", function()
    play()
    local timer = sleep_timer.start { after = "30m", fade = "5m" }
    expect(timer.remaining):to_be_near(2100, 1)
    task.sleep "29m59s"
    expect(speaker.device("Kitchen").volume):to_equal(22)
    task.sleep "2m31s"
    expect(speaker.device("Kitchen").volume):to_be_near(11, 1)
    expect(speaker.is_playing()):to_be_true()
    local began = task.now()
    expect(timer:wait("done").timer == timer):to_be_true()
    expect(task.now() - began):to_be_near(150, 1)
    expect(speaker.state()):to_equal "stopped"
    expect(#speaker.own.devices):to_equal(6)
    task.sleep(1)
    expect(speaker.device("Kitchen").volume):to_equal(22)
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    expect(timer.active):to_equal(false)
    expect(timer.remaining):to_equal(0.0)
  end)

  it("stops the music that an announcement has at that moment, and leaves an alarm alone", function()
    speaker.play_stream("http://radio.example/night.mp3", { rooms = "Bedroom" })
    local wake = alarm.set {
      at = "00:01", rooms = "Kitchen", sources = { "http://radio.example/a.mp3" }, fade = 0,
    }
    local timer = sleep_timer.start { after = "2m", fade = "1m" }
    task.sleep "2m59s"
    task.spawn(speaker.interrupt, {
      devices = "Bedroom", name = "gong", priority = 300,
      play = function()
        task.sleep "10s"
      end,
    })
    timer:wait "done"
    task.sleep "1m"
    expect(speaker.state()):to_equal "stopped"
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    expect(wake.state):to_equal "ringing"
    expect(speaker.device("Kitchen").is_playing):to_be_true()
    wake:cancel()
  end)

  it("opens the house when it is the first to use it", function()
    local timer = sleep_timer.start { after = "1m", fade = "1m" }
    expect(speaker.is_open()):to_be_true()
    expect(timer:wait("done", "5m").timer == timer):to_be_true()
  end)

  it("takes its rooms out of a session that others hear, which goes on", function()
    play()
    local right = speaker.device "Bedroom Right"
    speaker.house():unplug(right)
    sleep_timer.start({ after = "10m", fade = "1m", rooms = "Bedroom" }):wait "done"
    speaker.house():plug(right)
    task.sleep(1)
    expect(right.is_playing):to_equal(false)
    expect(speaker.is_playing()):to_be_true()
    expect(#speaker.own.devices):to_equal(4)
    expect(speaker.device("Bedroom Left").active):to_equal(false)
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    expect(speaker.device("Kitchen").volume):to_equal(22)
  end)

  it("stops a session of its own rooms, and leaves the own session alone", function()
    play()
    local bath = speaker.session { devices = "Bathroom" }
    bath:play_stream "http://radio.example/bath.mp3"
    sleep_timer.start({ after = 60, fade = 10, rooms = { "Bathroom" } }):wait "done"
    expect(bath:state()):to_equal "stopped"
    expect(speaker.is_playing()):to_be_true()
    task.sleep(1)
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("is extended while it waits, and during the fade, which it takes back", function()
    play()
    local kitchen = speaker.device "Kitchen"
    local timer = sleep_timer.start { after = "10m", fade = "2m" }
    task.sleep "5m"
    expect(timer:extend "10m"):to_be_true()
    expect(timer.remaining):to_be_near(17 * 60, 1)
    task.sleep "16m"
    expect(kitchen.volume < 22):to_be_true()
    expect(timer:extend "3m"):to_be_true()
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(timer.remaining):to_be_near(5 * 60 - 1, 1)
    task.sleep "4m58s"
    expect(speaker.is_playing()):to_be_true()
    timer:wait "done"
    expect(speaker.is_playing()):to_equal(false)
    expect(timer:extend "1m"):to_equal(false)
  end)

  it("goes on at the old volumes when it is cancelled during the fade", function()
    play()
    local timer = sleep_timer.start { after = "1m", fade = "2m" }
    task.sleep "2m"
    timer:cancel()
    timer:cancel()
    task.sleep "10m"
    expect(speaker.is_playing()):to_be_true()
    expect(speaker.device("Kitchen").volume):to_equal(22)
    expect(select(2, timer:wait "done")):to_equal "closed"
  end)

  it("leaves a volume that somebody sets during the fade, and stops all the same", function()
    play()
    local kitchen = speaker.device "Kitchen"
    local timer = sleep_timer.start { after = "1m", fade = "2m" }
    task.sleep "2m"
    kitchen:set_volume(30)
    timer:wait "done"
    expect(speaker.is_playing()):to_equal(false)
    task.sleep(1)
    expect(kitchen.volume):to_equal(30)
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("restores a speaker that was away at the end, and keeps a muted one muted", function()
    play()
    local kitchen, bath, house = speaker.device "Kitchen", speaker.device "Bathroom", speaker.house()
    bath:mute()
    local timer = sleep_timer.start { after = "1m", fade = "2m" }
    task.sleep "2m"
    house:unplug(kitchen)
    timer:wait "done"
    house:plug(kitchen)
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(kitchen.is_playing):to_equal(false)
    expect(bath.muted):to_be_true()
    expect(bath.volume):to_equal(20)
  end)

  it("follows its rooms through new names, and survives one that is removed", function()
    play()
    local kitchen = speaker.device "Kitchen"
    local timer = sleep_timer.start { after = "5m", fade = "1m", rooms = { "Kitchen", "Bathroom" } }
    task.sleep "1m"
    kitchen:set_name "Galley"
    play()
    speaker.house():remove(speaker.device "Bathroom")
    timer:wait "done"
    expect(kitchen.active):to_equal(false)
    expect(speaker.is_playing()):to_be_true()
  end)

  it("restores the volumes from before the first of two timers, whichever ends last", function()
    play()
    local kitchen = speaker.device "Kitchen"
    local first = sleep_timer.start { after = "10m", fade = "5m" }
    local second = sleep_timer.start { after = "12m", fade = "5m" }
    first:wait "done"
    expect(speaker.is_playing()):to_be_false()
    second:wait "done"
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(speaker.device("Bathroom").volume):to_equal(20)
    sleep_timer.start { after = "10m", fade = "5m" }
    local short = sleep_timer.start { after = "11m", fade = "1m" }
    short:wait "done"
    task.sleep "10m"
    expect(kitchen.volume):to_equal(22)
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("continues the fade of one timer when another one is cancelled", function()
    play()
    local kitchen = speaker.device "Kitchen"
    local first = sleep_timer.start { after = "10m", fade = "10m" }
    local second = sleep_timer.start { after = "11m", fade = "2m" }
    task.sleep "12m"
    expect(kitchen.volume < 15):to_be_true()
    second:cancel()
    task.sleep "7m"
    expect(kitchen.volume):to_be_near(2, 1)
    expect(speaker.is_playing()):to_be_true()
    local third = sleep_timer.start { after = 0, fade = "5m", rooms = "Kitchen" }
    task.sleep(1)
    first:cancel()
    third:cancel()
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("restores the volume that somebody has set between the beginnings of two timers", function()
    play()
    local kitchen = speaker.device "Kitchen"
    sleep_timer.start { after = "1m", fade = "5m" }
    local second = sleep_timer.start { after = "3m", fade = "5m" }
    task.sleep "2m"
    kitchen:set_volume(30)
    second:wait "done"
    task.sleep(1)
    expect(kitchen.volume):to_equal(30)
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("ends without done when the house is closed", function()
    play()
    local timer = sleep_timer.start { after = "1m", fade = "2m" }
    task.sleep "2m"
    speaker.close()
    expect(select(2, timer:wait("done", "5m"))):to_equal "closed"
  end)

  it("raises for a room that does not exist when it is set", function()
    expect(function()
      sleep_timer.start { after = "1m", rooms = "Attic" }
    end):to_raise "speaker.unknown"
    expect(function()
      sleep_timer.start { fade = "1m" }
    end):to_raise "option 'after' of 'start' is missing"
    expect(function()
      sleep_timer.start { after = "soon" }
    end):to_raise "option 'after' of 'start': soon is not a duration"
    expect(function()
      sleep_timer.start({ after = "1m" }):extend "x"
    end):to_raise "bad argument #1 to 'extend' (x is not a duration"
    for _, time in ipairs { 1e12, 1e300, "40000d" } do
      expect(function()
        sleep_timer.start { after = time }
      end):to_raise "option 'after' of 'start': at most a hundred years expected"
      expect(function()
        sleep_timer.start({ after = "1m" }):extend(time)
      end):to_raise "bad argument #1 to 'extend' (at most a hundred years expected"
    end
    expect(function()
      sleep_timer.start({ after = "30000d" }):extend "30000d"
    end):to_raise "the music would continue for more than a hundred years"
    expect(function()
      sleep_timer.start({ after = "1m" }):wait("done", 1e12)
    end):to_raise "bad argument #2 to 'wait' (at most a hundred years expected"
    speaker.close()
    expect(function()
      sleep_timer.start { after = "1m" }
    end):to_raise "speaker.closed"
  end)
end)
