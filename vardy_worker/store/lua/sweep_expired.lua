-- Removes the index entries of jobs whose keys have expired, one batch at a time, and forgets their
-- audit chains where no entry is left of them (see `trim_audit`).
-- Safe to send twice: removing again finds nothing.
--
-- KEYS[1] expiring  [2] indexes of expiring jobs  [3] due
--     [4] heads, [5] anchors and [6] names of audit chains
-- ARGV[1] prefix of job keys  [2] index prefix  [3] batch size  [4] prefix of audit chains  then every status
-- Result: how many jobs were removed

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local removed = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[3])) do
  if redis.call('EXISTS', ARGV[1] .. id) == 0 then
    local names = redis.call('HGET', KEYS[2], id)
    for _, name in ipairs(names and cjson.decode(names) or {}) do
      redis.call('ZREM', ARGV[2] .. name, id)
    end
    for at = 5, #ARGV do
      -- A job is in one of them.
      if redis.call('ZREM', ARGV[2] .. 'status:' .. ARGV[at], id) == 1 then
        break
      end
    end
    if redis.call('EXISTS', ARGV[4] .. id) == 0 then
      redis.call('HDEL', KEYS[4], id)
      redis.call('HDEL', KEYS[5], id)
      redis.call('ZREM', KEYS[6], id)
    end
    redis.call('ZREM', KEYS[3], id)
    redis.call('HDEL', KEYS[2], id)
    redis.call('ZREM', KEYS[1], id)
    removed = removed + 1
  end
end
return removed
