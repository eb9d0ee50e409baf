-- Gives live jobs of one status a due time if they have none, one batch at a time.
-- Safe to send twice: a job that has a due time keeps it.
--
-- KEYS[1] index of the status  [2] due
-- ARGV[1] prefix of job keys  [2] first place  [3] batch size  [4] grace (ms)
-- Result: {how many were looked at, how many had none}

local ids = redis.call('ZRANGE', KEYS[1], ARGV[2], tonumber(ARGV[2]) + tonumber(ARGV[3]) - 1)
if #ids == 0 then
  return {0, 0}
end
local time = redis.call('TIME')
local earliest = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[4])
local scores = redis.call('ZMSCORE', KEYS[2], unpack(ids))
local found = 0
for at, id in ipairs(ids) do
  if not scores[at] then
    local record = redis.call('HMGET', ARGV[1] .. id, 'status', 'expires_at_ms')
    if record[1] then
      -- A plan that waits for people needs a look when it expires, a job in work soon.
      local due = math.max(earliest, tonumber(record[2] or 0) or 0)
      redis.call('ZADD', KEYS[2], string.format('%.0f', due), id)
      found = found + 1
    end
  end
end
return {#ids, found}
