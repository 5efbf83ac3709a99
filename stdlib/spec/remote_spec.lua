-- The behaviour of remotes. `press` sends the message of a device as zigbee2mqtt does.

local mqtt = require "mqtt"
local remote = require "remote"
local speaker = require "speaker"
local task = require "task"

speaker.open { add_all = true }

local TOPIC = "zigbee2mqtt/kitchen dial"

local function press(action, topic)
  mqtt.publish(topic or TOPIC, { action = action, battery = 74, linkquality = 65 })
  task.sleep(0.5)
end

local function bind(map, more)
  local given = { topic = TOPIC, room = "Kitchen", map = map }
  for name, value in pairs(more or {}) do
    given[name] = value
  end
  return remote.bind(given)
end

-- Returns the state of what sounds in a room; nil without a session there.
local function state(room)
  local session = speaker.device(room).session
  return session and session:state()
end

local function volume()
  return speaker.device("Kitchen").volume
end

describe("remote.bind", function()
  it("moves the volume while the dial is turned, and stops with it", function()
    bind(remote.SYMFONISK)
    press "brightness_move_up"
    task.sleep(1.5)
    press "brightness_stop"
    local reached = volume()
    expect(reached):to_be_near(32, 3)
    task.sleep "10s"
    expect(volume()):to_equal(reached)
  end)

  it("ends a turn whose stop is lost after five seconds", function()
    bind(remote.SYMFONISK)
    speaker.device("Kitchen"):set_volume(10)
    press "brightness_move_up"
    task.sleep "1m"
    expect(volume()):to_equal(35)
    press "brightness_move_down"
    task.sleep "1m"
    expect(volume()):to_equal(10)
  end)

  it("stops at both ends", function()
    bind(remote.SYMFONISK)
    press "brightness_move_up"
    press "brightness_move_up"
    task.sleep "1m"
    press "brightness_move_up"
    task.sleep "1m"
    expect(volume()):to_equal(speaker.MAX_VOLUME)
    for _ = 1, 3 do
      press "brightness_move_down"
      task.sleep "1m"
    end
    expect(volume()):to_equal(0)
  end)

  it("keeps the balance of a room", function()
    bind({ up = "volume_up" }, { room = "Bedroom" })
    speaker.device("Bedroom Left"):set_volume(10)
    speaker.device("Bedroom Right"):set_volume(14)
    task.sleep(1)
    press "up"
    expect(speaker.device("Bedroom Left").volume):to_equal(12)
    expect(speaker.device("Bedroom Right").volume):to_equal(16)
  end)

  it("counts each of several quick presses", function()
    bind(remote.E2123)
    for _ = 1, 3 do
      mqtt.publish(TOPIC, { action = "volume_up" })
    end
    task.sleep(2)
    expect(volume()):to_equal(28)
  end)

  it("pauses and resumes what plays, and starts the station where nothing does", function()
    bind(remote.E2123, { station = "http://radio.example/day.mp3" })
    press "toggle"
    task.sleep "5s"
    expect(state "Kitchen"):to_equal "playing"
    press "toggle"
    expect(state "Kitchen"):to_equal "paused"
    press "toggle"
    expect(state "Kitchen"):to_equal "playing"
  end)

  it("starts the station in its room alone: that of another remote plays on", function()
    bind(remote.E2123, { station = "http://radio.example/day.mp3" })
    bind(remote.E2123, { station = "http://radio.example/day.mp3", topic = "bath", room = "Bathroom" })
    press "toggle"
    task.sleep "5s"
    press("toggle", "bath")
    task.sleep "5s"
    expect(state "Kitchen"):to_equal "playing"
    expect(state "Bathroom"):to_equal "playing"
    press("toggle", "bath")
    expect(state "Kitchen"):to_equal "playing"
    expect(state "Bathroom"):to_equal "paused"
  end)

  it("starts the station again after its session was closed", function()
    bind(remote.E2123, { station = "http://radio.example/day.mp3" })
    press "toggle"
    task.sleep "5s"
    speaker.device("Kitchen").session:close()
    expect(state "Kitchen"):to_be_nil()
    press "toggle"
    task.sleep "5s"
    expect(state "Kitchen"):to_equal "playing"
  end)

  it("stops and mutes", function()
    bind { single = "mute", hold = "stop" }
    press "single"
    expect(speaker.device("Kitchen").muted):to_be_true()
    press "single"
    expect(speaker.device("Kitchen").muted):to_be_false()
    speaker.play_stream("http://radio.example/day.mp3", { rooms = "Kitchen" })
    press "hold"
    expect(speaker.state()):to_equal "stopped"
  end)

  it("passes an action to a function, with the message", function()
    local heard = {}
    bind {
      dots_1_double_press = function(binding, message)
        heard = { binding.topic, message.json.battery }
      end,
    }
    press "dots_1_double_press"
    expect(heard):to_equal { TOPIC, 74 }
  end)

  it("ignores other actions, empty ones, retained messages and other topics", function()
    mqtt.publish(TOPIC, { action = "single" }, { retain = true })
    task.sleep(0.5)
    bind(remote.XIAOMI)
    bind { single = "volume_up" }
    press "quadruple"
    press ""
    press("single", "zigbee2mqtt/other")
    mqtt.publish(TOPIC, "online")
    mqtt.publish(TOPIC, { battery = 74 })
    task.sleep(1)
    expect(volume()):to_equal(22)
  end)

  it("takes a text as the action, and another member where one is named", function()
    bind { on = "volume_up" }
    bind({ left = "volume_down" }, { field = "side" })
    mqtt.publish(TOPIC, "on")
    task.sleep(1)
    expect(volume()):to_equal(24)
    mqtt.publish(TOPIC, { side = "left" })
    task.sleep(1)
    expect(volume()):to_equal(22)
  end)

  it("acts no more after it was cancelled, and a ramp ends with it", function()
    local binding = bind(remote.SYMFONISK)
    expect(tostring(binding)):to_equal [[remote "zigbee2mqtt/kitchen dial" in Kitchen (active)]]
    press "brightness_move_up"
    binding:cancel()
    local reached = volume()
    press "brightness_move_up"
    task.sleep "10s"
    expect(volume()):to_be_near(reached, 1)
    expect(binding.active):to_be_false()
  end)

  it("names a wrong map, room and topic", function()
    expect(function()
      bind { single = "louder" }
    end):to_raise "volume_up"
    expect(function()
      bind(remote.XIAOMI, { room = "Kitchn" })
    end):to_raise "speaker.unknown"
    expect(function()
      bind(remote.XIAOMI, { topic = "a+" })
    end):to_raise "mqtt.filter"
  end)
end)
