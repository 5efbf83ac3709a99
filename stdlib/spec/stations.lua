-- Stations for the specs: the paths of sounds are relative to this file.
local good, silence = "../simulation/station.mp3", "silence.mp3"
station("http://radio.example/down.mp3", { file = good, refuses = true })
station("http://radio.example/gone.mp3", { file = good, status = 404 })
station("http://radio.example/mute.mp3", { file = good, silent = true })
station("http://radio.example/html.mp3", { file = good, html = true })
station("http://radio.example/silence.mp3", { file = silence })
station("http://radio.example/beeps.mp3", { file = "beeps.mp3" }) -- half a second in nine
station("http://radio.example/good.mp3", { file = good, name = "Good FM" })
station("http://radio.example/news.mp3", { file = good, name = "News" })
station("http://radio.example/lost.mp3", {
  file = good, drops = { { at = "5m", outage = "2h" } },
})
