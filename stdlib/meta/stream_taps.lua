---@meta _

-- Taps of streams, as `Stream:tap` returns them, and the blocks of sound that they receive.

---A tap, as `Stream:tap` returns it. It ends with `remove`, with the script, and when its stream is no longer
---referenced.
---@class stream.Tap
---@field active boolean `true` until the tap is removed.
---@field failures integer Calls of its function that have raised.
---@field overruns integer Number of overruns of its function.
local Tap = {}

---Removes the tap, without a click. No effect the second time.
function Tap:remove() end

---A block of sound for a tap's function. Valid only while the function runs: later every access raises `argument`.
---@class stream.Block
---@field frames integer Samples per channel.
---@field channels integer 1: mono, 2: left and right.
---@field rate integer Sample rate in Hz.
local Block = {}

---Returns a sample; full scale is -1 to 1. Raises `argument`.
---@param frame integer Index of the frame, from 1.
---@param channel integer Index of the channel, from 1.
---@return number
function Block:get(frame, channel) end

---Sets a sample. Raises `argument`.
---@param frame integer Index of the frame, from 1.
---@param channel integer Index of the channel, from 1.
---@param sample number -1000 to 1000; a limiter keeps the signal below full scale.
function Block:set(frame, channel, sample) end

---Returns the level of a channel, or of all together: root mean square in dBFS; `-math.huge` for silence. Raises
---`argument`.
---@param channel? integer Index of the channel, from 1 (default: all channels).
---@return number
function Block:rms(channel) end

---Returns the levels of bands of equal width, all channels mixed, in dBFS: the centre of band `i` is
---`(i - 1) / (2 * bands)` of the sample rate, and a sine of full scale has 0. Reads the first `2 * bands` frames, or
---fewer if the block has fewer. Raises `argument`.
---@param bands integer A power of two from 8 to 2048.
---@return number[]
function Block:spectrum(bands) end
