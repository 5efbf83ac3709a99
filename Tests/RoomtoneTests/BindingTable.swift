import Testing

/// A function of the definitions with a call of it, its result, and calls that raise its errors.
struct BindingRow: Sendable, CustomTestStringConvertible {
  let function: String
  /// Statements before the call.
  var setup = ""
  /// The call, an expression.
  var call = ""
  /// The results as text; nil if only their types are compared.
  var results: String?
  /// Expressions after the call, with their values as text.
  var effects: [(expression: String, values: String)] = []
  /// Statements that raise a code.
  var errors: [(code: String, statements: String)] = []

  var testDescription: String { function }
}

/// A row for each function and method of the host, as text: its name, and below it, indented, `set` with
/// statements, `call` with the call and, after `-->`, its results, `then` with an expression and its values,
/// and codes, each with statements that raise it.
enum BindingTable {
  static let rows = [speaker, house, stream, headset, routines].flatMap(read)

  private static func read(_ text: String) -> [BindingRow] {
    var rows: [BindingRow] = []
    for line in text.split(separator: "\n") {
      guard line.hasPrefix("  ") else {
        rows.append(BindingRow(function: String(line)))
        continue
      }
      let words = line.drop { $0 == " " }.split(separator: " ", maxSplits: 1)
      let parts = words[1].split(separator: " -->", maxSplits: 1, omittingEmptySubsequences: false)
      let (code, values) = (String(parts[0]), parts.count == 2 ? String(parts[1].dropFirst()) : "")
      let last = rows.count - 1
      switch words[0] {
      case "set": rows[last].setup = code
      case "call": (rows[last].call, rows[last].results) = (code, values.isEmpty ? nil : values)
      case "then": rows[last].effects.append((code, values))
      default: rows[last].errors.append((String(words[0]), String(words[1])))
      }
    }
    return rows
  }

  /// Statements before those of a row, by the class or the module of its function.
  static let setups = [
    "stream.Recording": "recording = radio:record 'a.mp3'", "recordings": "recording = radio:record 'a.mp3'",
    "stream.Tap": "tap = radio:tap(print)",
    "headset": "h = headset.connect()",
    "headset.Headset": "h = headset.connect()",
    "task.Task": "work = task.spawn(function() task.sleep(1) return 'done', 2 end)",
    "schedule": "job = schedule.every('1h', { name = 'hourly' }, function() end)",
    "schedule.Job": "job = schedule.every('1h', { name = 'hourly' }, function() end)",
  ]

  /// Codes that calls in this harness can't raise, of all functions or of one, each with the suite that has a
  /// test of it, as its file below Tests.
  static let elsewhere = [
    "audio.no_output": "RoomtoneTests/KeptHouseTests", "speaker.busy": "RoomtoneTests/KeptHouseTests",
    "speaker.lost": "RoomtoneTests/KeptHouseTests", "speaker.superseded": "RoomtoneTests/CapabilityTests",
    "speaker.unsupported": "RoomtoneTests/CapabilityTests",
    "speaker.play speaker.unavailable": "SpeakerKitTests/HubAnswerTests",
    "stream.dns": "RoomtoneTests/StreamConditionTests",
    "stream.Recording:stop record.disk_full": "JourneyTests/DiskTests",
    "stream.Recording:stop record.write": "JourneyTests/DiskTests",
    "recordings.expire record.write": "StreamKitTests/Recorder/RecordingLibraryTests",
    "http.network": "RoomtoneTests/HTTPModuleTests", "http.timeout": "RoomtoneTests/HTTPModuleTests",
    "mqtt.not_connected": "RoomtoneTests/MQTTModuleTests",
    "mqtt.not_configured": "RoomtoneTests/MQTTModuleTests", "mqtt.refused": "RoomtoneTests/MQTTModuleTests",
    "task.no_program": "RoomtoneTests/ExecTests", "task.output": "RoomtoneTests/ExecTests",
    "script.memory": "RoomtoneTests/FloodTests", "script.flooded": "RoomtoneTests/FloodTests",
    "headset.not_available": "JourneyTests/HeadsetTests",
    "headset.connection_failed": "JourneyTests/HeadsetTests",
    "headset.auth": "JourneyTests/HeadsetTests",
    "headset.challenge_length": "HeadsetKitTests/Driver/HostileLineTests",
    "headset.timeout": "JourneyTests/HeadsetFailureTests",
    "headset.busy": "RoomtoneTests/HeadsetFirmwareTests",
    "headset.unsupported": "RoomtoneTests/HeadsetSoundTests",
    "headset.no_bands": "RoomtoneTests/HeadsetSoundTests",
    "headset.too_many_bands": "RoomtoneTests/HeadsetSoundTests",
    "headset.range": "RoomtoneTests/HeadsetSoundTests",
    "headset.Headset:equalizer headset.wrong_band_count": "HeadsetKitTests/Headset/SDHMIErrorTests",
    "headset.Headset:enter_bootloader headset.update_failed": "HeadsetKitTests/Headset/SDHMIErrorTests",
  ]

  /// Returns statements that make globals of modules.
  static func globals(_ modules: [String]) -> String {
    modules.map { "\($0) = require \"\($0)\"\n" }.joined()
  }

  /// Statements before all rows, after those for the modules: some objects and functions that the rows use.
  static let prelude = #"""
    session, house, group = speaker.own, speaker.house(), speaker.group "Bedroom"
    kitchen, bath, radio = speaker.device "Kitchen", speaker.device "Bathroom", stream.new "http://fm/"
    -- Return a group whose speakers were removed, or are unplugged.
    function empty(name)
      local group = speaker.group(name)
      for _, device in ipairs(group.devices) do house:remove(device) end
      return group
    end
    function leave() for _, device in ipairs(speaker.devices()) do device:leave() end end
    function during(f, g, ...) task.spawn(f) return g(...) end
    function unplug(name)
      local group = speaker.group(name)
      for _, device in ipairs(group.devices) do house:unplug(device) end
      return group
    end
    -- Calls a function with a block of the radio's sound, and returns its results.
    function inside(f)
      local results
      local tap = radio:tap(function(block) results = results or table.pack(f(block)) end)
      radio:start()
      while not results do task.sleep(0.1) end
      tap:remove()
      return table.unpack(results)
    end
    -- Restores a snapshot whose file, of that name, has other bytes since.
    function restored(name, bytes)
      speaker.play(name)
      snapshot = speaker.snapshot()
      local file = io.open(FOLDER .. "/" .. name, "w")
      file:write(bytes) file:close()
      snapshot:restore()
    end
    -- Returns the levels of the channels behind an effect: before it they are -9.0 and -15.0, of a tone of 1 kHz.
    function behind(effect)
      local show, count, frame, left, right = stream.new "http://show/", 0, 0, nil, nil
      show:tap(function(block)
        for i = 1, block.frames do
          local sample = math.sin(2 * math.pi * 1000 * frame / block.rate) / 2
          block:set(i, 1, sample) block:set(i, 2, -sample / 2)
          frame = frame + 1
        end
      end)
      show:tap(effect)
      show:tap(function(block)
        count = count + 1
        if count == 20 then left, right = block:rms(1), block:rms(2) end
      end)
      show:start()
      while not left do task.sleep(0.1) end
      show:stop()
      return left, right
    end
    local folder = FOLDER:gsub("%p", "%%%0")
    local function text(value)
      if type(value) == "string" then return (("%q"):format(value):gsub("\\\n", "\\n"):gsub(folder, "~")) end
      if math.type(value) == "float" then return ("%.1f"):format(value) end
      if type(value) ~= "table" then return (tostring(value):gsub(folder, "~")) end
      local parts = {}
      for _, item in ipairs(value) do parts[#parts + 1] = text(item) end
      local count = #parts
      for key, item in pairs(value) do
        if math.type(key) ~= "integer" or key > count then parts[#parts + 1] = key .. " = " .. text(item) end
      end
      if count == 0 then table.sort(parts) end
      return "{" .. table.concat(parts, ", ") .. "}"
    end
    local function line(values)
      local texts = {}
      for index = 1, values.n do texts[index] = text(values[index]) end
      return table.concat(texts, ", ")
    end
    local function unsuspended(f)
      local results
      table.sort({ 1, 2 }, function() results = table.pack(f()) end)
      return table.unpack(results, 1, results.n)
    end

    """#
}
