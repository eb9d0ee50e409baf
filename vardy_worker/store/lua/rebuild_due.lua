-- Gives live jobs a due time if they have none, one batch at a time, going on where the last
-- batch of any copy ended: all copies together make one pass.
-- Safe to send twice: a job that has a due time keeps it, and the second copy does the next batch.
--
-- KEYS[1] place that was reached  [2] due
-- ARGV[1] prefix of job keys  [2] index prefix  [3] batch size  [4] grace (ms)
--     [5] pause between passes (ms)  then every live status
-- Result: {how many had none, how many were looked at, 1 at the end of a pass and until the next begins, else 0}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local place = redis.call('HMGET', KEYS[1], 'status', 'id', 'score', 'rest_until')
if not place[1] and tonumber(place[4] or 0) > now then
  return {0, 0, 1}
end

-- Jobs come and go before the place, so it is kept by its job, or else by its time.
local at = tonumber(place[1] or 1)
local index = ARGV[2] .. 'status:' .. ARGV[5 + at]
local first = 0
if place[2] then
  local rank = redis.call('ZRANK', index, place[2])
  first = rank and rank + 1 or redis.call('ZCOUNT', index, '-inf', '(' .. place[3])
end

local ids = redis.call('ZRANGE', index, first, first + ARGV[3] - 1)
local found = 0
if #ids > 0 then
  local earliest = now + tonumber(ARGV[4])
  local scores = redis.call('ZMSCORE', KEYS[2], unpack(ids))
  for number, id in ipairs(ids) do
    if not scores[number] then
      local record = redis.call('HMGET', ARGV[1] .. id, 'status', 'expires_at_ms')
      if record[1] then
        -- A plan that waits for people needs a look when it expires, a job in work soon.
        local due = math.max(earliest, tonumber(record[2] or 0) or 0)
        redis.call('ZADD', KEYS[2], string.format('%.0f', due), id)
        found = found + 1
      end
    end
  end
end

if #ids == tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[1], 'status', at, 'id', ids[#ids], 'score', redis.call('ZSCORE', index, ids[#ids]))
  return {found, #ids, 0}
end
redis.call('DEL', KEYS[1])
if 5 + at < #ARGV then
  redis.call('HSET', KEYS[1], 'status', at + 1)
  return {found, #ids, 0}
end
if ARGV[5] ~= '0' then
  redis.call('HSET', KEYS[1], 'rest_until', string.format('%.0f', now + tonumber(ARGV[5])))
end
return {found, #ids, 1}
