-- Entries of one chain of the audit trail, with what they follow and what must be the newest.
-- Writes nothing, so sending it twice is harmless.
--
-- KEYS[1] chain  [2] heads  [3] anchors  [4] names of chains
-- ARGV[1] chain  [2] entries after this number  [3] limit
-- Result: {head or "", anchor or "", number of the entry before the first, entries left after them,
--     1 for a chain that is known by name, else 0, {entry…}}

local head = redis.call('HGET', KEYS[2], ARGV[1]) or ''
local anchor = redis.call('HGET', KEYS[3], ARGV[1]) or ''
local trimmed = tonumber(string.match(anchor, '^%d+') or 0)
local before = math.max(trimmed, tonumber(ARGV[2]))
local first = before - trimmed
local entries = redis.call('LRANGE', KEYS[1], first, first + ARGV[3] - 1)
local left = math.max(0, redis.call('LLEN', KEYS[1]) - first - #entries)
return {head, anchor, before, left, redis.call('ZSCORE', KEYS[4], ARGV[1]) and 1 or 0, entries}
