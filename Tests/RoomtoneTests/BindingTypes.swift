import Reference

/// The types of the definitions as functions in Lua, which return what is wrong with a value, or nil.
enum BindingTypes {
  private static let reference = ReferenceCheck.reference

  /// Functions for all classes, by name, and `wrong(values, types, isOpen)`, which compares results.
  static let prelude =
    #"""
    local types, seen = {}, {}
    local function expected(what, value) return what .. " expected, got " .. text(value) end
    local function basic(name)
      return function(v) if (math.type(v) or type(v)) ~= name then return expected(name, v) end end
    end
    local function number(v) if type(v) ~= "number" then return expected("number", v) end end
    local function any() end
    local function equal(wanted)
      return function(v) if v ~= wanted then return expected(text(wanted), v) end end
    end
    local function optional(check) return function(v) if v ~= nil then return check(v) end end end
    local function either(checks)
      return function(v)
        local reasons = {}
        for index, check in ipairs(checks) do
          reasons[index] = check(v)
          if not reasons[index] then return end
        end
        return table.concat(reasons, "; ")
      end
    end
    local function map(keys, values)
      return function(v)
        if type(v) ~= "table" then return expected("table", v) end
        for key, item in pairs(v) do
          local reason = keys(key) or values(item)
          if reason then return "[" .. text(key) .. "]: " .. reason end
        end
      end
    end
    local function list(check)
      local all = map(basic "integer", check)
      return function(v)
        local reason = all(v)
        if reason then return reason end
        local count = 0
        for _ in pairs(v) do count = count + 1 end
        if count ~= #v then return "holes" end
      end
    end
    local function fields(v, checks)
      for name, check in pairs(checks) do
        local reason = check(v[name])
        if reason then return name .. ": " .. reason end
      end
    end
    local function shape(checks)
      return function(v)
        if type(v) ~= "table" then return expected("table", v) end
        for name in pairs(v) do
          if not checks[name] then return "no field '" .. text(name) .. "' is described" end
        end
        return fields(v, checks)
      end
    end
    local function object(name, checks)
      return function(v)
        local found = type(v) == "userdata"
          and message(function() return v.qqqqqqqqqqqqqqqqqqqqqqqq end):match "of an? ([%w_]+) is called"
        if found ~= name then return expected(name, v) end
        if seen[v] then return end
        seen[v] = true
        return fields(v, checks)
      end
    end
    local function named(name) return function(v) return types[name](v) end end
    local function wrong(values, checks, isOpen)
      if values.n > #checks and not isOpen then return values.n .. " results, described are " .. #checks end
      for index, check in ipairs(checks) do
        local reason = check(values[index])
        if reason then return "result " .. index .. ": " .. reason end
      end
    end

    """# + reference.classes.map { "types['\($0.name)'] = \(definition(of: $0))\n" }.joined()

  private static func definition(of type: ReferenceClass) -> String {
    let fields = list(of: reference.fields(of: type.name).filter { $0.name != "[integer]" })
    // An effect has no method that would tell an object.
    if type.name == "stream.Effect" { return "object('effect', {})" }
    guard type.isObject else { return "shape \(fields)" }
    let name = type.name == "speaker.Device" ? "Speaker" : type.name.split(separator: ".").last ?? ""
    return "object('\(name.lowercased())', \(fields))"
  }

  private static func list(of fields: [ReferenceField]) -> String {
    let items = fields.map { field in
      let key = field.name.hasPrefix("[") ? field.name : "['\(field.name)']"
      let check = function(for: field.type)
      return "\(key) = \(field.isOptional ? "optional(\(check))" : check)"
    }
    return "{ \(items.joined(separator: ", ")) }"
  }

  /// Returns the function in Lua for a type.
  static func function(for type: ReferenceType) -> String {
    if type.isOptional { return "optional(\(function(for: ReferenceType(type.text))))" }
    let alternatives = type.alternatives
    if alternatives.count > 1 {
      return "either { \(alternatives.map { function(for: $0) }.joined(separator: ", ")) }"
    }
    if let literal = type.literals.first { return "equal '\(literal)'" }
    if let item = type.element { return "list(\(function(for: item)))" }
    if let fields = type.fields { return "shape \(list(of: fields))" }
    if type.signature != nil { return "basic 'function'" }
    if let alias = reference.alias(type.text) {
      guard !alias.values.isEmpty else { return function(for: alias.type) }
      return "either { \(alias.values.map { "equal '\($0.text)'" }.joined(separator: ", ")) }"
    }
    if reference.class(type.text) != nil { return "named '\(type.text)'" }
    switch type.text {
    case "any", "number": return type.text
    case "true", "false", "nil": return "equal(\(type.text))"
    case let text where text.hasPrefix("table<"):
      let parts = text.dropFirst(6).dropLast().split(separator: ",", maxSplits: 1)
      let checks = parts.map { function(for: ReferenceType($0.drop { $0 == " " })) }
      return "map(\(checks.joined(separator: ", ")))"
    default: return "basic '\(type.text)'"
    }
  }
}
