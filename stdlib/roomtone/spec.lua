-- Functions of specs that `roomtone test` runs: each test in a house, a store and a virtual time of its own.
--
--   local speaker, task = require "speaker", require "task"
--   describe("the bedroom", function()
--     it("is quiet at night", function()
--       task.sleep "23h"
--       expect(speaker.group("Bedroom").volume):to_equal(5)
--     end)
--     it("rings in summer, too", { from = "2026-03-29T00:00", timezone = "Europe/Berlin" }, function() … end)
--   end)

local checks = require "roomtone.misuse"
local runner = require "roomtone.runner"
local task = require "task"

local spec = checks.module "roomtone.spec"
local OPTIONS = { from = true, timezone = true, stations = true }

-- Descriptions

local titles, count = {}, 0
local is_running = false -- a test

-- Raises unless a function of descriptions is called where it has an effect.
local function check_outside(name)
  if is_running then
    checks.raise(("'%s' is called inside a test, where no other one begins"):format(name))
  end
end

function spec.describe(title, fn)
  check_outside "describe"
  if type(title) ~= "string" or type(fn) ~= "function" then
    checks.raise("bad arguments to 'describe' (a title and a function expected)")
  end
  table.insert(titles, title)
  fn()
  table.remove(titles)
end

-- Calls a function; returns nil, or the error with which it ended, as text.
local function failure(fn)
  local is_done = false
  local _, err = task.try(function()
    fn()
    is_done = true
  end)
  local text = err == nil and "an error without a message" or tostring(err)
  return not is_done and text or nil, err
end

function spec.it(title, options, fn)
  check_outside "it"
  if type(options) == "function" then
    options, fn = {}, options
  end
  if type(title) ~= "string" or type(options) ~= "table" or type(fn) ~= "function" then
    checks.raise("bad arguments to 'it' (a title, perhaps options, and a function expected)")
  end
  for name, value in pairs(options) do
    if not OPTIONS[name] then
      checks.raise(checks.unknown("option of 'it'", name, OPTIONS))
    elseif type(value) ~= "string" then
      checks.raise(("bad option '%s' of 'it' (string expected, got %s)"):format(name, type(value)))
    end
  end
  count = count + 1
  if runner.number == 0 then
    runner.found(table.concat(titles, " ") .. (#titles > 0 and " " or "") .. title, options)
  elseif runner.number == count then
    is_running = true
    runner.ended((failure(fn)))
    os.exit()
  end
end

-- Expectations

local DEPTH, LENGTH = 4, 300

-- Returns a text that is cut at a length, between two characters.
local function cut(text)
  if #text <= LENGTH then
    return text
  end
  local last = LENGTH
  while last > 0 and text:byte(last + 1) & 0xC0 == 0x80 do
    last = last - 1
  end
  return text:sub(1, last) .. "…"
end

-- Returns a value as text: tables with sorted keys, cut at a depth and a length.
local function shown(value, depth)
  if type(value) == "string" then
    return (("%q"):format(cut(value)):gsub("\\\n", "\\n"))
  elseif type(value) ~= "table" or getmetatable(value) then
    return tostring(value)
  elseif (depth or 0) == DEPTH then
    return "{…}"
  end
  local parts, keys = {}, {}
  for index, element in ipairs(value) do
    parts[index] = shown(element, (depth or 0) + 1)
  end
  for key in pairs(value) do
    if not (math.type(key) == "integer" and key >= 1 and key <= #parts) then
      table.insert(keys, key)
    end
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, key in ipairs(keys) do
    local name = type(key) == "string" and key or ("[%s]"):format(tostring(key))
    table.insert(parts, ("%s = %s"):format(name, shown(value[key], (depth or 0) + 1)))
  end
  return cut("{ " .. table.concat(parts, ", ") .. " }")
end

-- Returns true if two values are equal: tables by their contents. A table may contain itself: `compared` has
-- the pairs that are being compared.
local function equal(one, other, compared)
  if one == other then
    return true
  elseif type(one) ~= "table" or type(other) ~= "table" or getmetatable(one) or getmetatable(other) then
    return false
  end
  compared = compared or {}
  compared[one] = compared[one] or {}
  if compared[one][other] then
    return true
  end
  compared[one][other] = true
  for key, value in pairs(one) do
    if not equal(value, other[key], compared) then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

local function fail(expected, got)
  checks.raise(("expected %s, got %s"):format(expected, got), "spec.expectation")
end

-- Raises unless an argument of an expectation has a type.
local function check(name, value, expected)
  if type(value) ~= expected then
    checks.raise(("bad argument to '%s' (%s expected, got %s)"):format(name, expected, type(value)))
  end
end

local Expectation = {}
local meta = {
  __index = function(_, name)
    if name == "value" then
      return nil -- expect(nil)
    elseif not Expectation[name] then
      checks.raise(checks.unknown("expectation", name, Expectation))
    end
    return function(self, ...)
      if type(self) ~= "table" or getmetatable(self) ~= "an expectation" then
        checks.raise(("call '%s' with a colon: expect(value):%s(…)"):format(name, name))
      end
      return Expectation[name](self, ...)
    end
  end,
  __metatable = "an expectation",
}

function Expectation:to_equal(expected)
  if not equal(self.value, expected) then
    fail(shown(expected), shown(self.value))
  end
end

function Expectation:to_differ_from(other)
  if equal(self.value, other) then
    fail("anything but " .. shown(other), "the same")
  end
end

function Expectation:to_be_near(expected, tolerance)
  local value = self.value
  check("to_be_near", expected, "number")
  check("to_be_near", tolerance, "number")
  local distance = type(value) == "number" and math.abs(value - expected) or math.huge
  if distance ~= distance or distance > tolerance then
    fail(("%s ± %s"):format(expected, tolerance), shown(value))
  end
end

function Expectation:to_be_true()
  if self.value ~= true then
    fail("true", shown(self.value))
  end
end

function Expectation:to_be_false()
  if self.value ~= false then
    fail("false", shown(self.value))
  end
end

function Expectation:to_be_nil()
  if self.value ~= nil then
    fail("nil", shown(self.value))
  end
end

-- A text contains another one; a list contains an element.
function Expectation:to_contain(part)
  local value = self.value
  if type(value) == "string" then
    check("to_contain", part, "string")
    if not value:find(part, 1, true) then
      fail("a text with " .. shown(part), shown(value))
    end
    return
  end
  for _, element in ipairs(type(value) == "table" and value or {}) do
    if equal(element, part) then
      return
    end
  end
  fail("a list with " .. shown(part), shown(value))
end

function Expectation:to_match(pattern)
  check("to_match", pattern, "string")
  local is_valid, problem = pcall(string.find, "", pattern)
  if not is_valid then
    checks.raise(("bad argument to 'to_match' (%s)"):format(problem))
  end
  if type(self.value) ~= "string" or not self.value:find(pattern) then
    fail("a text that matches " .. shown(pattern), shown(self.value))
  end
end

-- The function raises an error with that code, or with that text in its message; any error without argument.
function Expectation:to_raise(expected)
  if type(self.value) ~= "function" then
    checks.raise(("expect(function() … end):to_raise expected, got %s"):format(type(self.value)))
  end
  local text, err = failure(self.value)
  if not text then
    fail("an error" .. (expected and " " .. shown(expected) or ""), "none")
  elseif expected then
    check("to_raise", expected, "string")
    local code = type(err) == "table" and err.code
    if code ~= expected and not text:find(expected, 1, true) then
      fail("an error " .. shown(expected), text)
    end
  end
end

function spec.expect(value)
  return setmetatable({ value = value }, meta)
end

-- Defines the functions as globals of the spec. The result is closed when the file has been run: a file that
-- does not reach its end, as by `os.exit`, hides the tests after that place.
function spec.install()
  describe, it, expect = spec.describe, spec.it, spec.expect -- luacheck: ignore
  return setmetatable({}, {
    __close = function(_, err)
      if err == nil and runner.number == 0 then
        runner.loaded()
      end
    end,
  })
end

return checks.sealed("roomtone.spec", spec)
