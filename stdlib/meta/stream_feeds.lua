---@meta _

-- Options of the feeds of titles, for `Stream:audiovault` and `Stream:live365`.

---Names of the elements of an AudioVault feed, 1 to 64 bytes each. No public description of that XML is known: the
---defaults are plain words, unverified. Case does not matter; a character other than a letter, digit, `_`, `-` or `.`
---counts as `_`; namespace prefixes are ignored. An element may be at any depth; an attribute is read as an element.
---@class stream.Elements
---@field event? string An item that is played, which contains the other elements (default: `"event"`).
---@field title? string Title of the item (default: `"title"`).
---@field artist? string Artist of the item (default: `"artist"`).
---@field start? string Start time of the item (default: `"start"`).
---@field length? string Length of the item (default: `"length"`).

---@class stream.AudioVaultOptions
---@field url string Address of the XML, http or https, with user and password where the server requires them.
---@field timezone? string Time zone of the station: `"Europe/Berlin"`, or an abbreviation of only one zone, such as `"EST"`, `"BST"` or `"JST"`, which includes daylight-saving time (default: that of this machine).
---@field delay? Duration|number Delay of the stream against the times of the feed, -1 to 1 hour (default: 0).
---@field elements? stream.Elements Names of the elements.
---@field times? "auto"|"ms"|"s" Unit of times since midnight (default: `"auto"`, detected); `14:05:09` is read as well.

---@class stream.Live365Options
---@field url string Address of the XML, http or https.
