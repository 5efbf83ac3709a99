-- The names of equalizer presets.

local eq = require "eq"

describe("eq.define", function()
  it("refuses a name that can't be kept or shown on one line", function()
    for _, name in ipairs { "a\0", "a\nb", "\127" } do
      expect(function()
        eq.define(name, {})
      end):to_raise "bad argument #1 to 'define' (text without control characters expected)"
    end
    eq.define("höher", { [125] = 2 })
    expect(eq.presets()):to_contain "höher"
  end)
end)
