-- Picks the jobs whose due time has passed and hides them from other copies for a while.
-- Safe to send twice: the second copy finds the first one's jobs hidden and takes others;
-- if the first reply was lost, its jobs are due again when `hide` is over.
--
-- KEYS[1] due
-- ARGV[1] prefix of job keys  [2] limit  [3] hide for (ms)  [4] hide queued jobs for (ms)
-- Result: a list of {job id, status, deliveries, created at}, the longest due first

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local later = string.format('%.0f', now + tonumber(ARGV[3]))
local queued_later = string.format('%.0f', now + tonumber(ARGV[4]))
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[2])
local taken = {}
for _, id in ipairs(due) do
  local record = redis.call('HMGET', ARGV[1] .. id, 'status', 'deliveries', 'created_at_ms')
  if record[1] then
    redis.call('ZADD', KEYS[1], record[1] == '"QUEUED"' and queued_later or later, id)
    taken[#taken + 1] = {id, record[1], record[2], record[3]}
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return taken
