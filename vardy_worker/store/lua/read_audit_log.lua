-- One stretch of the audit trail in order of recording, or backwards, with the entries themselves.
-- Writes nothing, so sending it twice is harmless.
--
-- KEYS[1] log  [2] anchors
-- ARGV[1] prefix of chain keys  [2] "forwards" or "backwards"  [3] from and [4] to a place
--     [5] limit  [6] scan  then texts that an entry must hold
-- Result: {place of the last entry seen, or "" at the end, entries scanned, {place, entry}…}

local prefix, limit, scan = ARGV[1], tonumber(ARGV[5]), tonumber(ARGV[6])
if #ARGV == 6 then
  -- Every entry will do, so no more than are asked for are looked at.
  scan = math.min(scan, limit)
end
local command = ARGV[2] == 'forwards' and 'XRANGE' or 'XREVRANGE'
local places = redis.call(command, KEYS[1], ARGV[3], ARGV[4], 'COUNT', scan)
local trimmed = {}

local function entry_at(chain, n)
  if not trimmed[chain] then
    trimmed[chain] = tonumber(string.match(redis.call('HGET', KEYS[2], chain) or '0', '^%d+'))
  end
  local at = n - trimmed[chain] - 1
  return at >= 0 and redis.call('LINDEX', prefix .. chain, at)
end

local function wanted(entry)
  for at = 7, #ARGV do
    if not string.find(entry, ARGV[at], 1, true) then
      return false
    end
  end
  return true
end

local found, scanned = {}, 0
for _, place in ipairs(places) do
  if #found == limit then
    break
  end
  scanned = scanned + 1
  local entry = entry_at(place[2][2], tonumber(place[2][4]))
  if entry and wanted(entry) then
    found[#found + 1] = {place[1], entry}
  end
end
local at_end = scanned == #places and #places < scan
return {at_end and '' or places[scanned][1], scanned, found}
