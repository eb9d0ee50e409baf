-- Counts a plan among its requester's totals and notes that in the job, in one step.
-- Safe to send twice: the job then notes already what this call would note.
--
-- KEYS[1] job  [2] totals by hour  [3] corrections of them
-- ARGV[1] expected fence  [2] version of the totals that was read, or "" for none  [3] their new version
--     [4] JSON that the job notes  [5] number of corrections that the totals hold now
--     [6] keep for (ms)  [7] the present hour
--     [8] number of hours that are written, then pairs of hour and JSON, then the hours that are dropped
-- Result: "counted" | "moved": the totals are other ones by now | "lost": the job is another worker's

local job, totals, corrections = KEYS[1], KEYS[2], KEYS[3]
local record = redis.call('HMGET', job, 'fence', 'status', 'counted')
if tonumber(record[1]) ~= tonumber(ARGV[1]) or record[2] ~= '"COMMITTING"' then
  return 'lost'
end
if record[3] == ARGV[4] then
  return 'counted'
end
if (redis.call('HGET', totals, '_version') or '') ~= ARGV[2] then
  return 'moved'
end

redis.call('HSET', job, 'counted', ARGV[4])
if ARGV[2] == '' then
  redis.call('HSET', totals, '_era', ARGV[3])
end
redis.call('HSET', totals, '_version', ARGV[3], '_last', ARGV[7])
local dropped = 9 + 2 * tonumber(ARGV[8])
for at = 9, dropped - 1, 2 do
  redis.call('HSET', totals, ARGV[at], ARGV[at + 1])
end
for at = dropped, #ARGV do
  redis.call('HDEL', totals, ARGV[at])
end
redis.call('LTRIM', corrections, ARGV[5], -1)
redis.call('PEXPIRE', totals, ARGV[6])
return 'counted'
