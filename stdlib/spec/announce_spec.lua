-- The behaviour of announcements. No program runs here: a sentence lasts as long as it would take to speak.

local announce = require "announce"
local sleep_timer = require "sleep_timer"
local speaker = require "speaker"
local task = require "task"

speaker.open { add_all = true }

local TUNE = "../simulation/station.mp3"

describe("announce.say", function()
  it("is heard over music, which continues exactly where it was", function()
    local kitchen = speaker.device "Kitchen"
    speaker.play(TUNE, { loop = true })
    task.sleep(3)
    local position = speaker.position()
    local saying = task.spawn(announce.say, { "The door is open", volume = 40, fade = 0 })
    task.sleep(1)
    expect(kitchen.session.source.title):to_equal "The door is open"
    expect(kitchen.volume):to_equal(40)
    saying:await()
    expect(speaker.position()):to_be_near(position, 0.05)
    expect(speaker.state()):to_equal "playing"
    expect(kitchen.volume):to_equal(22)
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    expect(kitchen.session == speaker.own):to_be_true()
  end)

  it("is heard over music that goes on, lower, on its speakers alone", function()
    local kitchen = speaker.device "Kitchen"
    speaker.play(TUNE, { loop = true })
    task.sleep(3)
    local began, position = task.now(), speaker.position()
    local saying = task.spawn(announce.say, { "The door is open", rooms = "Kitchen", volume = 40, duck = 12 })
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(kitchen.session == speaker.own):to_be_true()
    expect(speaker.own.suspended):to_be_false()
    saying:await()
    local passed = task.now() - began
    expect(passed > 2):to_be_true()
    local length = speaker.duration()
    expect(speaker.position()):to_be_near((position + passed) % length, 0.05)
    expect(speaker.state()):to_equal "playing"
  end)

  it("waits for another one over the same music", function()
    speaker.play_stream "http://radio.example/day.mp3"
    local began, order = task.now(), {}
    local function say(text)
      return task.spawn(function()
        announce.say { text, rooms = "Kitchen", duck = 12 }
        table.insert(order, text .. " " .. (task.now() - began > 5 and "later" or "first"))
      end)
    end
    task.all { say(("x"):rep(45)), say "y" }
    expect(order[1]):to_equal(("x"):rep(45) .. " first")
    expect(order[2]):to_equal "y later"
  end)

  it("lasts as long as it takes to speak", function()
    local function time(given)
      local began = task.now()
      announce.say(given)
      return task.now() - began
    end
    local text = ("a few words "):rep(10)
    local usual = time { text }
    expect(usual):to_be_near(9, 1)
    expect(time { text, speed = 350 }):to_be_near(5, 1)
  end)

  it("waits for another one in its rooms, and for none in other rooms", function()
    local order = {}
    local function say(text, room, seconds)
      return task.spawn(function()
        announce.say { text, rooms = room }
        table.insert(order, ("%s %d"):format(text, (task.now() - seconds) // 1))
      end)
    end
    local now = task.now()
    local text = ("x"):rep(45)
    task.all {
      say(text, "Kitchen", now), say("second", { "Kitchen", "Bathroom" }, now), say("other", "Bedroom", now),
    }
    expect(order[1]):to_match "^other"
    expect(order[2]):to_match "^x"
    expect(order[3]):to_match "^second"
    expect(speaker.device("Bathroom").session == speaker.own):to_be_true()
  end)

  it("passes the sentence, the voice and the speed to espeak-ng, and says if that fails", function()
    local heard
    task.stand_in("espeak-ng", function(arguments)
      heard = table.concat(arguments, " ")
      if heard:find "nobody" then
        return { code = 1, stderr = "no such voice" }
      end
    end)
    announce.say { "-- Essen!", voice = "de", speed = 120, rooms = "Kitchen" }
    expect(heard):to_match "%-s 120 %-v de %-%- %-%- Essen!$"
    expect(function()
      announce.say { "nuqneH", voice = "nobody" }
    end):to_raise "espeak-ng failed: no such voice"
    expect(function()
      announce.say { "nuqneH", voice = "nobody" }
    end):to_raise "announce.speech"
  end)

  it("does not disturb the fade of a sleep timer, which restores the volumes", function()
    local kitchen = speaker.device "Kitchen"
    speaker.play_stream "http://radio.example/night.mp3"
    local timer = sleep_timer.start { after = "1m", fade = "5m" }
    task.sleep "3m"
    local saying = task.spawn(announce.say, { ("a long sentence "):rep(20), rooms = "Kitchen", volume = 35 })
    task.sleep(18)
    expect(kitchen.volume):to_equal(35)
    saying:await()
    task.sleep(1)
    expect(kitchen.volume):to_be_near(11, 2)
    task.sleep "1m"
    expect(kitchen.volume):to_be_near(6, 2)
    timer:wait "done"
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(speaker.is_playing()):to_be_false()
  end)

  it("leaves a volume that somebody sets meanwhile, also to a fade", function()
    local kitchen = speaker.device "Kitchen"
    speaker.play_stream "http://radio.example/night.mp3"
    sleep_timer.start { after = "1m", fade = "5m" }
    task.sleep "3m"
    local long = ("a long sentence "):rep(5)
    local saying = task.spawn(announce.say, { long, rooms = "Kitchen", volume = 35 })
    task.sleep(1)
    kitchen:set_volume(30)
    saying:await()
    task.sleep "5m"
    expect(kitchen.volume):to_equal(30)
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("restores everything if its routine is cancelled, and lets the next one speak", function()
    local kitchen = speaker.device "Kitchen"
    speaker.play_stream "http://radio.example/day.mp3"
    local long = ("a long sentence "):rep(50)
    local saying = task.spawn(announce.say, { long, volume = 40 })
    local waiting = task.spawn(announce.say, { long, volume = 41 })
    local last = task.spawn(announce.say, { "last", volume = 42 })
    task.sleep(2)
    waiting:cancel()
    saying:cancel()
    task.sleep(1)
    expect(kitchen.volume):to_equal(42)
    last:await()
    expect(kitchen.volume):to_equal(22)
    expect(kitchen.session.source.title):to_equal "day"
  end)

  it("goes on without a speaker that disappears, which has its volume when it is back", function()
    local kitchen, house = speaker.device "Kitchen", speaker.house()
    local saying = task.spawn(announce.say, { ("a long sentence "):rep(5), volume = 40 })
    task.sleep(2)
    house:unplug(kitchen)
    saying:await()
    house:plug(kitchen)
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(speaker.device("Bathroom").volume):to_equal(20)
  end)

  it("raises where its options are wrong", function()
    for _, case in ipairs {
      { {}, "the text, value 1 in the options of 'say' is missing" }, { { " " }, "a text to speak expected" },
      { { 5 }, "the text, value 1 in the options of 'say': string expected, got number" },
      { { "x", rooms = "Attic" }, "speaker.unknown" }, { { "x", duck = -10 }, "from 0 to 90 expected, got" },
      { { "x", duck = "mute" }, '"pause" or a number of dB' },
      { { "x", volume = 60 }, "from 0 to 50" }, { { "x", room = "Kitchen" }, "did you mean 'rooms'" },
      { { "x", speed = 5 }, "from 80 to 450 expected" },
    } do
      expect(function()
        announce.say(case[1])
      end):to_raise(case[2])
    end
  end)
end)

describe("announce.play", function()
  it("plays a file over what plays, for its length", function()
    speaker.play_stream "http://radio.example/day.mp3"
    local playing = task.spawn(announce.play, { TUNE, rooms = { "Kitchen", "Bathroom" } })
    task.sleep(2)
    expect(speaker.device("Kitchen").session.source.title):to_equal "station.mp3"
    expect(speaker.device("Bedroom Left").session.source.title):to_equal "day"
    playing:await()
    expect(speaker.device("Kitchen").session.source.title):to_equal "day"
  end)

  it("interrupts nothing for a file that can't be played, or rooms of a higher priority", function()
    speaker.play_stream "http://radio.example/day.mp3"
    expect(function()
      announce.play { "nowhere.wav" }
    end):to_raise "audio.not_found"
    local bath = speaker.session { devices = "Bathroom", priority = 500 }
    bath:play(TUNE, { loop = true })
    expect(function()
      announce.play { TUNE, rooms = "Bathroom" }
    end):to_raise "speaker.outranked"
    announce.play { TUNE, rooms = "Bathroom", priority = 500 }
    expect(#bath.devices):to_equal(1)
    expect(speaker.is_playing()):to_be_true()
  end)
end)
