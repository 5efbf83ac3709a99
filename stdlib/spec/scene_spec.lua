-- The behaviour of scenes, in the demonstration house.

local scene = require "scene"
local speaker = require "speaker"
local store = require "store"
local task = require "task"

speaker.open { add_all = true }

-- Changes all that a scene has.
local function disturb()
  speaker.set_volume(40)
  speaker.device("Kitchen"):leave()
  speaker.set_eq "rock"
  task.sleep(1)
end

describe("scene", function()
  it("restores volumes, mute and equalizer, and leaves speakers in their sessions", function()
    local kitchen, bath = speaker.device "Kitchen", speaker.device "Bathroom"
    bath:mute()
    speaker.device("Bedroom Left"):leave()
    speaker.set_eq { [1000] = 3.5 }
    scene.save "dinner"
    disturb()
    speaker.device("Bedroom Left"):join()
    scene.apply "dinner"
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
    expect(kitchen.active):to_equal(false)
    expect(speaker.device("Bedroom Left").active):to_be_true()
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    expect(bath.muted):to_be_true()
    expect(bath.volume):to_equal(20)
    expect(speaker.eq()[1000]):to_equal(3.5)
    expect(speaker.eq()[31]):to_equal(0.0)
  end)

  it("includes a volume that was set a moment before", function()
    speaker.device("Kitchen"):set_volume(44)
    scene.save "loud"
    disturb()
    scene.apply "loud"
    expect(speaker.device("Kitchen").volume):to_equal(44)
  end)

  it("fades, and returns when the volumes are there", function()
    scene.save "dinner"
    disturb()
    local kitchen, began = speaker.device "Kitchen", task.now()
    kitchen:set_volume(32)
    local applying = task.spawn(scene.apply, "dinner", { fade = "10s" })
    task.sleep(5.2)
    expect(kitchen.volume):to_equal(27)
    applying:await()
    expect(task.now() - began):to_be_near(10, 0.1)
    expect(kitchen.volume):to_equal(22)
  end)

  it("leaves volumes as they are when its routine is cancelled", function()
    scene.save "dinner"
    disturb()
    local kitchen = speaker.device "Kitchen"
    kitchen:set_volume(32)
    local applying = task.spawn(scene.apply, "dinner", { fade = "10s" })
    task.sleep(5.2)
    applying:cancel()
    task.sleep "1m"
    expect(kitchen.volume):to_equal(27)
  end)

  it("restores groups, whatever their speakers are called", function()
    local kitchen = speaker.device "Kitchen"
    scene.save "dinner"
    kitchen:set_group "Bathroom"
    disturb()
    kitchen:set_name "Galley"
    scene.apply "dinner"
    expect(kitchen.group_name):to_equal "Kitchen"
    expect(kitchen.volume):to_equal(22)
  end)

  it("lets the music go on", function()
    speaker.play_stream "http://radio.example/day.mp3"
    scene.save "dinner"
    disturb()
    scene.apply("dinner", { fade = 1 })
    expect(speaker.is_playing()):to_be_true()
  end)

  it("leaves a speaker in another session, if it was in another one", function()
    local session = speaker.session { devices = "Bathroom" }
    scene.save "dinner"
    disturb()
    scene.apply "dinner"
    expect(#session.devices):to_equal(1)
  end)

  it("passes a speaker that is gone, and reaches one that is away when it is back", function()
    local kitchen, house = speaker.device "Kitchen", speaker.house()
    scene.save "dinner"
    disturb()
    house:remove(speaker.device "Bathroom")
    house:unplug(kitchen)
    scene.apply("dinner", { fade = "2s" })
    expect(speaker.device("Bedroom Left").volume):to_equal(18)
    house:plug(kitchen)
    task.sleep(1)
    expect(kitchen.volume):to_equal(22)
  end)

  it("is listed by its name, kept as plain data, and deleted", function()
    scene.save "night"
    scene.save "dinner"
    store.set("unlike", 1)
    expect(scene.list()):to_equal { "dinner", "night" }
    expect(store.get("scene.night").speakers[speaker.device("Kitchen").id].volume):to_equal(22)
    expect(scene.delete "night"):to_be_true()
    expect(scene.delete "night"):to_equal(false)
    expect(scene.list()):to_equal { "dinner" }
  end)

  it("raises for a scene that does not exist and for wrong options", function()
    expect(function()
      scene.apply "dinner"
    end):to_raise "no scene is called 'dinner', as no scene is saved"
    for _, wrong in ipairs { 3, {}, { speakers = { x = 3 }, equalizer = {} } } do
      store.set("scene.wrong", wrong)
      local _, err = task.try(function()
        scene.apply "wrong"
      end)
      expect(tostring(err)):to_match "scene_spec.lua:%d+: the store's value 'scene.wrong' is not a scene"
    end
    expect(function()
      scene.save "a\0"
    end):to_raise "bad argument #1 to 'save' (text without control characters expected)"
    scene.save "dinner"
    expect(function()
      scene.apply "diner"
    end):to_raise "no scene is called 'diner'; did you mean 'dinner'"
    expect(function()
      scene.apply "diner"
    end):to_raise "scene.unknown"
    expect(function()
      scene.apply("dinner", { over = 1 })
    end):to_raise "no option of 'apply' is called 'over'"
    expect(function()
      scene.save(5)
    end):to_raise "bad argument #1 to 'save' (string expected, got number)"
  end)
end)
