-- Prolongs a lease, and the due time with it, from the server's present time.
-- Safe to send twice: it sets, it does not add. The version stays: nothing that readers see changes.
--
-- KEYS[1] job  [2] due
-- ARGV[1] job id  [2] fence  [3] lease (ms)
-- Result: 1, or 0 when the fence is not the newest or the lease was given back

local record = redis.call('HMGET', KEYS[1], 'fence', 'lease_until_ms')
if not record[1] or tonumber(record[1]) ~= tonumber(ARGV[2]) or tonumber(record[2]) == 0 then
  return 0
end
local time = redis.call('TIME')
local ends = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'lease_until_ms', ends)
redis.call('ZADD', KEYS[2], ends, ARGV[1])
return 1
