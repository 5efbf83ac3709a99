// LuaModules
