-- Objects for scripts: with methods, fields to read, and events, whose data the script can't reach.
--
--   local object = require "roomtone.object"
--   local Lamp = object.class {
--     name = "a lamp", definition = "lamp.Lamp",
--     events = { "lit" },
--     fields = { on = function(own) return own.on end },
--     describe = function(own) return own.on and "lamp (on)" or "lamp (off)" end,
--   }
--   function Lamp.methods.light(own)                 -- lamp:light()
--     own.on = true
--     object.emit(own, "lit", { lamp = own.object })
--   end
--   local lamp = object.new(Lamp, { on = false })
--
-- Methods and fields receive the object's data, the table passed to `new`. A class with events has the
-- methods `on`, `once` and `wait`.

local checks = require "roomtone.misuse"
local options = require "roomtone.options"
local task = require "task"

local object = checks.module "roomtone.object"
local misuse = checks.raise

-- Data of each object, by the object.
local owned = setmetatable({}, { __mode = "k" })

-- Classes

-- Returns the names in two sets.
local function union(first, second)
  local all = {}
  for _, set in ipairs { first, second } do
    for name in pairs(set) do
      all[name] = true
    end
  end
  return all
end

-- Creates a class from `name`, with its article; `definition`, its name in stdlib/meta; `fields`, functions
-- that return the value from the data; `events`, a list of names; `describe`, the function of `tostring`.
-- Methods are added to its `methods`.
function object.class(class)
  local fields, methods = class.fields, {}
  class.methods = setmetatable({}, {
    -- Each method receives the data instead of the object.
    __newindex = function(_, name, method)
      methods[name] = function(self, ...)
        if getmetatable(self) ~= class.meta then
          local message = "bad argument #1 to '%s' (%s expected, got %s)"
          misuse(message:format(name, class.name, type(self)), nil,
            ("call it with a colon: object:%s(…)"):format(name))
        end
        return method(owned[self], ...)
      end
    end,
  })
  class.meta = {
    -- Names for completion at the prompt.
    __fields = fields,
    __methods = methods,
    __index = function(self, key)
      if fields[key] then
        return fields[key](owned[self])
      end
      return methods[key]
        or misuse(checks.unknown("field or method of " .. class.name, key, union(fields, methods)))
    end,
    __definition = class.definition,
    __newindex = function(_, key)
      local name = methods["set_" .. tostring(key)] and "set_" .. key or methods[key] and key
      misuse(("'%s' of %s can't be set"):format(tostring(key), class.name), nil,
        name and ("call :%s(…)"):format(name))
    end,
    __tostring = function(self)
      return class.describe(owned[self])
    end,
  }
  for name, method in pairs(class.events and object.event_methods or {}) do
    class.methods[name] = method
  end
  return class
end

-- Creates an object of a class with its data, which has the object as `object` from then on.
function object.new(class, own)
  own.object, own.listeners = setmetatable({}, class.meta), {}
  for _, event in ipairs(class.events or {}) do
    own.listeners[event] = {}
  end
  owned[own.object] = own
  return own.object
end

-- Returns true if a value is an object of a class.
function object.is(value, class)
  return getmetatable(value) == class.meta
end

-- Events. A listener has a function `fn`, or a task `pause` that a waiting routine awaits.

local Subscription = object.class {
  name = "a subscription", definition = "Subscription",
  fields = {
    event = function(own)
      return own.event
    end,
    active = function(own)
      return own.listener.active
    end,
    failures = function(own)
      return own.listener.failures
    end,
  },
  describe = function(own)
    return ("subscription to \"%s\" (%s)"):format(own.event, own.listener.active and "active" or "ended")
  end,
}

-- Ends a listener, which receives no further event.
local function remove(list, listener)
  listener.active = false
  for index, other in ipairs(list) do
    if other == listener then
      return table.remove(list, index)
    end
  end
end

function Subscription.methods.cancel(own)
  remove(own.list, own.listener)
end

-- Calls a listener; counts a failure of it.
local function call(listener, payload)
  local _ <close> = object.closing(function(_, err)
    if err ~= nil and not (type(err) == "table" and rawget(err, "code") == "task.cancelled") then
      listener.failures = listener.failures + 1
    end
  end)
  listener.fn(payload)
end

-- Emits an event: calls its listeners, each in a routine of its own, so that a failure affects nothing else.
function object.emit(own, event, payload)
  local list = own.listeners[event]
  for _, listener in ipairs { table.unpack(list) } do
    if listener.active then
      if listener.once then
        remove(list, listener)
      end
      if listener.pause then
        listener.payload = payload
        listener.pause:cancel()
      else
        task.spawn(call, listener, payload)
      end
    end
  end
end

-- Ends the events of an object: routines that wait for one, now or later, receive nil and "closed".
function object.close(own)
  own.is_closed = true
  for _, list in pairs(own.listeners) do
    for _, listener in ipairs { table.unpack(list) } do
      if listener.pause then
        listener.pause:cancel()
      end
    end
  end
end

-- Returns the listeners of an event; raises misuse for an unknown one.
local function listeners(own, name, event)
  if not own.listeners[event] then
    local known = {}
    for each in pairs(own.listeners) do
      known[#known + 1] = each
    end
    table.sort(known)
    misuse(("bad argument #1 to '%s' (no event is called '%s'; events here: %s)")
      :format(name, tostring(event), table.concat(known, ", ")))
  end
  return own.listeners[event]
end

local function subscribe(own, name, event, fn)
  local list = listeners(own, name, event)
  if type(fn) ~= "function" then
    misuse(("bad argument #2 to '%s' (function expected, got %s)"):format(name, type(fn)))
  end
  local listener = { fn = fn, once = name == "once", active = true, failures = 0 }
  table.insert(list, listener)
  return object.new(Subscription, { event = event, listener = listener, list = list })
end

-- The methods of every class with events.
object.event_methods = {
  on = function(own, event, fn)
    return (subscribe(own, "on", event, fn))
  end,
  once = function(own, event, fn)
    return (subscribe(own, "once", event, fn))
  end,
  wait = function(own, event, timeout)
    local list = listeners(own, "wait", event)
    local _, wrong = options.seconds(timeout == nil and 0 or timeout)
    if wrong then
      misuse(("bad argument #2 to 'wait' (%s)"):format(wrong))
    elseif own.is_closed then
      return nil, "closed"
    end
    local where = checks.where()
    local listener = { once = true, active = true, pause = task.spawn(task.sleep, options.LONGEST) }
    table.insert(list, listener)
    local _ <close> = object.closing(function() -- also if the waiting routine is cancelled
      remove(list, listener)
      listener.pause:cancel()
    end)
    local _, err = task.try(listener.pause.await, listener.pause, timeout)
    if listener.payload then
      return listener.payload
    elseif err.code == "task.cancelled" then
      return nil, "closed"
    elseif err.code == "task.timeout" then
      return nil, "timeout"
    end
    err.where = where or ""
    error(err, 0)
  end,
}

-- Returns a value for a variable with the attribute <close>: the function is called at the end of its scope.
function object.closing(fn)
  return setmetatable({}, { __close = fn })
end

return checks.sealed("roomtone.object", object)
