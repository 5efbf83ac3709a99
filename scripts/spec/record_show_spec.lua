-- A week of scripts/record_show.lua.

local recordings = require "recordings"
local start = require "routine"
local task = require "task"

describe("record_show", function()
  it("records the news on weekdays, and the show on Saturday evening", function()
    start "record_show"
    task.sleep "7d"
    local news, shows = recordings.list { job = "news" }, recordings.list { job = "saturday show" }
    expect(#news):to_equal(5)
    expect(#shows):to_equal(1)
    expect(news[1].path):to_match "News/2026%-01%-09%.mp3$"
    expect(news[1].seconds):to_be_near(11 * 60, 30)
    expect(os.date("%a %H:%M", shows[1].start // 1 | 0)):to_equal "Sat 19:58"
    expect(shows[1].seconds):to_be_near(127 * 60, 30)
    expect(shows[1].gaps):to_equal {}
  end)

  it("deletes news after two weeks, and keeps the shows", function()
    start "record_show"
    task.sleep "19d" -- to the end of a Friday: the news has been recorded 15 times
    local news = recordings.list { job = "news" }
    expect(news[1].path):to_match "23%.mp3$"
    expect(news[#news].path):to_match "09%.mp3$"
    expect(#recordings.list { job = "saturday show" }):to_equal(2)
  end)

  it("records from another station", function()
    start("record_show", "http://radio.example/news.mp3")
    task.sleep "13h"
    expect(recordings.list({})[1].url):to_equal "http://radio.example/news.mp3"
  end)
end)
