-- Applies one compare-and-set to a job: all of it, or nothing.
-- Safe to send twice: an applied change leaves a receipt under its token, and a second copy
-- answers from it. A refused one changes nothing, so judging it again is harmless.
--
-- KEYS[1] job  [2] effects  [3] journal  [4] events  [5] receipts  [6] console
--     [7] due  [8] expiring  [9] indexes of expiring jobs
-- ARGV[1] token  [2] job id  [3] index prefix  [4] change channel
--     [5] expected statuses as "|A|B|"  [6] new status, or ""
--     [7] expected fence, or ""  [8] expected version, or ""
--     [9] due at (ms), "keep" or "never"  [10] "1" gives the lease back
--     [11] let the job expire after (ms), "" leaves it, "live" ends an expiry
--     [12] receipts live for (ms)
--     [13] "1" refuses a job whose cancelling was asked for
--     [14] [15] [16] [17] numbers of fields, effects, journal entries, events
--     then pairs of field and JSON, pairs of position and JSON, JSON entries, JSON events
-- Result: {"changed", version} | {"conflict", status, version, fence, who asked to cancel (JSON)} | {"missing"}

local job, receipts = KEYS[1], KEYS[5]
local token, id, prefix = ARGV[1], ARGV[2], ARGV[3]

local receipt = redis.call('HGET', receipts, token)
if receipt then
  return {'changed', tonumber(receipt)}
end

local now = redis.call('HMGET', job, 'status', 'version', 'fence', 'created_at_ms', 'cancel_requested_by')
if not now[1] then
  return {'missing'}
end
local status, version, fence = string.sub(now[1], 2, -2), tonumber(now[2]), tonumber(now[3])
local cancelled_by = now[5] or '""'
if not string.find(ARGV[5], '|' .. status .. '|', 1, true)
  or (ARGV[7] ~= '' and tonumber(ARGV[7]) ~= fence)
  or (ARGV[8] ~= '' and tonumber(ARGV[8]) ~= version)
  or (ARGV[13] == '1' and cancelled_by ~= '""') then
  return {'conflict', status, version, fence, cancelled_by}
end

local at = 18
for _ = 1, tonumber(ARGV[14]) do
  redis.call('HSET', job, ARGV[at], ARGV[at + 1])
  at = at + 2
end
for _ = 1, tonumber(ARGV[15]) do
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
  at = at + 2
end
for _ = 1, tonumber(ARGV[16]) do
  redis.call('RPUSH', KEYS[3], ARGV[at])
  at = at + 1
end
for _ = 1, tonumber(ARGV[17]) do
  redis.call('RPUSH', KEYS[4], ARGV[at])
  at = at + 1
end

version = version + 1
redis.call('HSET', job, 'version', version)
local to = ARGV[6]
if to ~= '' and to ~= status then
  redis.call('HSET', job, 'status', '"' .. to .. '"')
  redis.call('ZREM', prefix .. 'status:' .. status, id)
  redis.call('ZADD', prefix .. 'status:' .. to, now[4], id)
end
if ARGV[10] == '1' then
  redis.call('HSET', job, 'lease_until_ms', 0, 'deliveries', 0, 'worker', '""')
end

if ARGV[9] == 'never' then
  redis.call('ZREM', KEYS[7], id)
elseif ARGV[9] ~= 'keep' then
  redis.call('ZADD', KEYS[7], ARGV[9], id)
end

local own = {job, KEYS[2], KEYS[3], KEYS[4], KEYS[6]}
if ARGV[11] == 'live' then
  for _, key in ipairs(own) do
    redis.call('PERSIST', key)
  end
  redis.call('ZREM', KEYS[8], id)
  redis.call('HDEL', KEYS[9], id)
else
  local keep = tonumber(ARGV[11])
  if keep then
    local time = redis.call('TIME')
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + keep
    redis.call('ZADD', KEYS[8], string.format('%.0f', ends), id)
    redis.call('HSET', KEYS[9], id, redis.call('HGET', job, '_indexes'))
  else
    -- Parts of an expiring job that this change created must not outlive it.
    keep = redis.call('PTTL', job)
  end
  if keep >= 0 then
    for _, key in ipairs(own) do
      redis.call('PEXPIRE', key, keep)
    end
  end
end

redis.call('HSET', receipts, token, version)
redis.call('PEXPIRE', receipts, ARGV[12])
redis.call('PUBLISH', ARGV[4], id)
return {'changed', version}
