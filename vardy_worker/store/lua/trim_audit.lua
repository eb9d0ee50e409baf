-- Removes the oldest entries of the audit trail, one batch at a time. What a chain went on from
-- becomes its anchor; a chain without entries is forgotten once its job is gone.
-- Safe to send twice: a copy that comes later removes the next batch, which is as old.
--
-- KEYS[1] log  [2] heads  [3] anchors  [4] names of chains  [5] time of the newest trimming
-- ARGV[1] prefix of chain keys  [2] prefix of job keys  [3] older than (ms)  [4] batch size
--     [5] chain that is never forgotten
-- Result: how many entries were removed

local time = redis.call('TIME')
local before = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[3]))
local places = redis.call('XRANGE', KEYS[1], '-', '(' .. before .. '-0', 'COUNT', ARGV[4])
for _, place in ipairs(places) do
  local chain, n = place[2][2], tonumber(place[2][4])
  local key = ARGV[1] .. chain
  local trimmed = tonumber(string.match(redis.call('HGET', KEYS[3], chain) or '0', '^%d+'))
  local oldest = n > trimmed and redis.call('LPOP', key)
  if oldest then
    -- What cannot be read was changed by hand; no hash then shows that.
    local readable, entry = pcall(cjson.decode, oldest)
    local hash = readable and type(entry) == 'table' and entry.hash or ''
    redis.call('HSET', KEYS[3], chain, n .. ' ' .. tostring(hash))
  end
  if redis.call('EXISTS', key) == 0 and chain ~= ARGV[5] and redis.call('EXISTS', ARGV[2] .. chain) == 0 then
    redis.call('HDEL', KEYS[2], chain)
    redis.call('HDEL', KEYS[3], chain)
    redis.call('ZREM', KEYS[4], chain)
  end
  redis.call('XDEL', KEYS[1], place[1])
end
if #places > 0 and tonumber(redis.call('GET', KEYS[5]) or 0) < tonumber(before) then
  redis.call('SET', KEYS[5], before)
end
return #places
