---@meta http
---@search webhook rest api request download internet curl lamp hue weather

-- Requests to servers: a lamp, a weather service, a home's own programs.
--
--   local http, json = require "http", require "json"
--   local answer = http.get("http://192.168.1.5/weather", { timeout = "3s" })
--   if json.decode(answer.body).rain then print "Take an umbrella" end
--   http.post("http://192.168.1.7/lamp", { on = true })
--
-- Other routines continue meanwhile; a request ends with the routine that waits for it. Redirects are followed, ten at
-- most, certificates are verified, and a compressed body is decoded. A user and a password in the URL are sent as basic
-- authentication and never shown. Under `roomtone simulate` the stations file has the answers (`roomtone help
-- simulation`).

---@class httplib
local http = {}

---Options of a request.
---@class http.Options
---@field headers? table<string, string> Header fields by name.
---@field timeout? Duration Longest duration of the request, redirects and body included, an hour at most (default: "10s").
---@field max_bytes? integer|string Longest body of the answer, decoded: bytes, or text such as "500kB", 64MB at most (default: "1MB").
---@field raise? boolean `false` returns answers with a status of 400 or more, which raise otherwise (default: true).

---The answer of a server.
---@class http.Answer
---@field status integer HTTP status.
---@field headers table<string, string> Header fields by name in lower case; several of one name are joined by commas.
---@field body string

---Fetches a URL with GET.
---
---Raises `http.status` (400 or more, with `status`), `http.network` (no such host, no connection, no valid certificate, a
---broken answer), `http.timeout`, `http.too_large`, `simulate.not_here` under simulation for a URL without an answer,
---`argument`, `task.cannot_suspend`.
---@async
---@param url string `http://` or `https://`.
---@param options? http.Options
---@return http.Answer
function http.get(url, options) end

---Sends a body with POST. A table is sent as JSON with the type `application/json`, a text as it is, as plain text unless
---`headers` name another `Content-Type`.
---
---Raises `json.not_json` and `json.too_large` for a table that can't be sent, and as GET does `http.status`,
---`http.network`, `http.timeout`, `http.too_large`, `simulate.not_here`, `argument`, `task.cannot_suspend`.
---@async
---@param url string `http://` or `https://`.
---@param body? string|table The body; nil: no body.
---@param options? http.Options
---@return http.Answer
function http.post(url, body, options) end

return http
