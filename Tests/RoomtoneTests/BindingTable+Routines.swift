extension BindingTable {
  static let routines = #"""
    task.spawn
      call task.spawn(function(text) return text end, "x") --> task "task" (running)
      then task.spawn(function(text) return text end, "x"):await() --> "x"
      script.objects for _ = 1, 20000 do task.spawn(task.sleep, "1h") end
    task.sleep
      set start = task.now()
      call task.sleep "1m" -->
      then task.now() - start >= 60 --> true
    task.all
      call task.all { function() task.sleep(1) return 1, 2 end, task.spawn(task.sleep, 5) } --> {1, true}
      task.cancelled other = task.spawn(task.sleep, 9) other:cancel() task.all { other }
    task.race
      call task.race { task.spawn(task.sleep, 5), function() return 1, nil, 2 end } --> 1, nil, 2
      task.cancelled other = task.spawn(task.sleep, 9) other:cancel() task.race { other }
    task.timeout
      call task.timeout("1m", function(a, b) task.sleep(1) return b, a end, 1, 2) --> 2, 1
      task.timeout task.timeout(1, task.sleep, 5)
    task.now
      call task.now() -->
      then math.type(task.now()) --> "float"
    task.try
      call task.try(function(a) return a, 2 end, 1) --> 1, 2
      then select(2, task.try(error, "no milk")), select("#", task.try(error, "x")) --> "no milk", 2
    task.Task:await
      call work:await() --> "done", 2
      then work.done --> true
      task.timeout task.spawn(task.sleep, 9):await(1)
      task.cancelled other = task.spawn(task.sleep, 9) other:cancel() other:await()
    task.Task:cancel
      call work:cancel() -->
      then task.sleep(1) or work.done --> true
    task.exec
      set task.stand_in("date", function(arguments) return arguments[1] .. "!" end)
      call task.exec { "date", "x", timeout = "1m" } --> {code = 0, stderr = "", stdout = "x!"}
      simulate.not_here task.exec { "cal" }
      task.timeout task.stand_in("sleep", function() task.sleep(9) end) task.exec { "sleep", timeout = 1 }
    task.stand_in
      call task.stand_in("date", function() return { code = 3, stdout = "", stderr = "no" } end) -->
      then task.exec { "date" } --> {code = 3, stderr = "no", stdout = ""}
    schedule.at
      call schedule.at("06:45", { days = "daily", name = "wake" }, print) \#
    --> job "wake" (next 2026-01-05 06:45, runs 0, failures 0)
      then schedule.at("07:00", print).name --> "at 2026-01-05 07:00"
      schedule.syntax schedule.at("soon", print)
      schedule.past schedule.at("2020-01-01 00:00", print)
      schedule.location schedule.at("sunset", print)
      schedule.duplicate schedule.at("08:00", { name = "wake" }, print)
    schedule.cron
      call schedule.cron("30 6 * * *", { name = "wake" }, print) \#
    --> job "wake" (next 2026-01-05 06:30, runs 0, failures 0)
      schedule.syntax schedule.cron("* *", print)
      schedule.zone schedule.cron("@daily", { timezone = "Nowhere/City" }, print)
      schedule.duplicate schedule.cron("@daily", { name = "wake" }, print)
    schedule.every
      set runs = 0
      call schedule.every("15m", { name = "quarter" }, function() runs = runs + 1 end) -->
      then task.sleep "61m" or runs --> 4
      then os.date("%H:%M", schedule.every("20m", { align = true }, print).next // 1) --> "01:20"
      schedule.syntax schedule.every("soon", print)
      schedule.duplicate schedule.every("1h", { name = "quarter" }, print)
    schedule.jobs
      call schedule.jobs() -->
      then schedule.jobs()[1] == job, job:cancel() or schedule.jobs() --> true, {}
    schedule.Job:cancel
      call job:cancel() -->
      then job.active, job.next --> false, nil
    schedule.Job:skip
      set job = schedule.at("06:45", { days = "daily" }, print)
      call job:skip() -->
      then os.date("%a %H:%M", job.next // 1) --> "Tue 06:45"
    schedule.Job:on
      set heard = {}
      call job:on("finished", function(e) table.insert(heard, job.runs) end) -->
      then job:run_now(), task.sleep(1), heard --> true, nil, {1}
    schedule.Job:once
      set heard = 0
      call job:once("finished", function() heard = heard + 1 end) --> subscription to "finished" (active)
      then task.sleep "3h", heard --> nil, 1
    schedule.Job:wait
      call job:wait "finished" -->
      then job:wait("finished", 1) --> nil, "timeout"
      then during(function() job:cancel() end, job.wait, job, "started") --> nil, "closed"
    schedule.Job:run_now
      call job:run_now() --> true
      then task.sleep(1), job.runs, job:cancel(), job:run_now() --> nil, 1, nil, false
    log.debug
      call log.debug "details" -->
    log.info
      call log.info("breakfast", { room = "Kitchen", volume = 22 }) -->
    log.warn
      call log.warn "unusual" -->
    log.error
      call log.error "a failure" -->
    store.get
      set store.set("a", { 1, { b = 2.0 } })
      call store.get "a" --> {1, {b = 2.0}}
      then store.get("b", 7), store.get "b" --> 7, nil
    store.set
      call store.set("a", { "x", n = nil }) -->
      then store.get "a", store.set("a", nil), store.get "a" --> {"x"}, nil, nil
      store.not_storable store.set("a", { print })
      store.too_large store.set("a", ("x"):rep(2 << 20))
      store.full for n = 1, 2 do store.set("k" .. n, ("x"):rep(600000)) end
    store.delete
      set store.set("a", 1)
      call store.delete "a" --> true
      then store.delete "a" --> false
    store.keys
      set store.set("b1", 1) store.set("a", 1) store.set("b0", 1)
      call store.keys "b" --> {"b0", "b1"}
      then store.keys() --> {"a", "b0", "b1"}
    trigger.on
      set heard = {}
      call trigger.on("bell", function(e) table.insert(heard, e.value) end) -->
      then trigger.fire("bell", 1), trigger.fire("bell", 2), task.sleep(1), heard --> nil, nil, nil, {1, 2}
      trigger.name trigger.on("a bell", print)
    trigger.once
      set heard = {}
      call trigger.once("bell", function(e) table.insert(heard, e.value) end) -->
      then trigger.fire("bell", 1), trigger.fire("bell", 2), task.sleep(1), heard --> nil, nil, nil, {1}
      trigger.name trigger.once("", print)
    trigger.wait
      set task.spawn(function() task.sleep(1) trigger.fire("bell", { button = "front" }) end)
      call trigger.wait "bell" -->
      then trigger.wait("bell", 1) --> nil, "timeout"
      trigger.name trigger.wait "a bell"
    trigger.fire
      call trigger.fire("bell", { 1, 2.5, "x", { on = true } }) -->
      trigger.name trigger.fire "a bell"
      trigger.too_large trigger.fire("bell", ("x"):rep(100000))
      trigger.not_json trigger.fire("bell", print)
    mqtt.on
      set heard = {}
      call mqtt.on("a/+", function(m) table.insert(heard, m.json) end) -->
      then mqtt.publish("a/b", 1), mqtt.publish("b", 2), mqtt.publish("a/c", { 3 }), task.sleep(1), heard \#
    --> nil, nil, nil, nil, {1, {3}}
      mqtt.filter mqtt.on("a+", print)
    mqtt.once
      set heard = {}
      call mqtt.once("#", function(m) table.insert(heard, m.payload) end) -->
      then mqtt.publish("a", "x"), task.sleep(1), mqtt.publish("a", "y"), task.sleep(1), heard \#
    --> nil, nil, nil, nil, {"x"}
      mqtt.filter mqtt.once("#/a", print)
    mqtt.wait
      set task.spawn(function() task.sleep(1) mqtt.publish("a", "x", { qos = 1 }) end)
      call mqtt.wait "a" --> {payload = "x", qos = 1, retained = false, topic = "a"}
      then mqtt.wait("a", 1) --> nil, "timeout"
      mqtt.filter mqtt.wait ""
    mqtt.publish
      call mqtt.publish("a", { on = true }, { retain = true, queue = true }) -->
      then mqtt.wait("a", 1).json --> {on = true}
      mqtt.topic mqtt.publish("a/#", 1)
      mqtt.too_large mqtt.publish("a", ("x"):rep(1100000))
      json.not_json mqtt.publish("a", { print })
      json.too_large mqtt.publish("a", { ("x"):rep(5000000) })
    mqtt.connected
      call mqtt.connected() --> true
    http.get
      call http.get "http://lamp/" --> {body = "{\"on\":true}", headers = {x-level = "20"}, status = 200}
      http.status http.get "http://failing/"
      http.too_large http.get("http://lamp/", { max_bytes = 2 })
      simulate.not_here http.get "http://nowhere/"
    http.post
      call http.post("http://failing/", { on = false }, { raise = false }) -->
      then http.post("http://failing/", "x", { raise = false }).status --> 500
      http.status http.post "http://failing/"
      http.too_large http.post("http://lamp/", "x", { max_bytes = 2 })
      json.not_json http.post("http://lamp/", { print })
      json.too_large http.post("http://lamp/", { ("x"):rep(5 << 20) })
      simulate.not_here http.post "http://nowhere/"
    json.encode
      call json.encode { room = "Kitchen", levels = { 10, 2.5, json.null } } \#
    --> "{\"levels\":[10,2.5,null],\"room\":\"Kitchen\"}"
      then json.encode({ 1 }, { pretty = true }) --> "[\n  1\n]"
      json.not_json json.encode(print)
      json.too_large json.encode(("x"):rep(5 << 20))
    json.decode
      call json.decode '[1, 2.0, "x", {"on": null}]' --> {1, 2.0, "x", {on = null}}
      json.syntax json.decode "[1,"
      json.too_large json.decode((" "):rep(5 << 20))
    """#
}
