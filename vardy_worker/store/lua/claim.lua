-- Takes a job: fence and deliveries grow by one, the lease and the due time end together.
-- Safe to send twice: while the newest claim carries this token, it is answered again, with the
-- record as it is then.
--
-- KEYS[1] job  [2] effects  [3] events  [4] due
-- ARGV[1] token  [2] job id  [3] index prefix  [4] change channel
--     [5] expected statuses as "|A|B|"  [6] new status  [7] worker as JSON  [8] lease (ms)
--     [9] newest schema that the worker can read
-- Result: {"claimed", fence, fields, effects} | {"refused", reason}
--     fields and effects as HGETALL answers them
--     reasons: "missing", "schema", "status", "leased", "not_due"

-- include: tell

local job = KEYS[1]
local token, id, prefix, to = ARGV[1], ARGV[2], ARGV[3], ARGV[6]
local function claimed(fence)
  return {'claimed', fence, redis.call('HGETALL', job), redis.call('HGETALL', KEYS[2])}
end

local record = redis.call('HMGET', job, 'status', 'version', 'fence', 'deliveries', 'lease_until_ms',
  'not_before_ms', 'created_at_ms', 'started_at_ms', '_claim', 'schema')
if not record[1] then
  return {'refused', 'missing'}
end
local status = string.sub(record[1], 2, -2)
if record[9] == token then
  -- Written again, as what waits for disk and replicas looks at this connection's writes alone (see `scripts`).
  redis.call('HSET', job, '_claim', token)
  return claimed(tonumber(record[3]))
end
-- A worker that took what it cannot read would only use up the job's deliveries.
if tonumber(record[10]) > tonumber(ARGV[9]) then
  return {'refused', 'schema'}
end
if not string.find(ARGV[5], '|' .. status .. '|', 1, true) then
  return {'refused', 'status'}
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(record[5]) > now then
  return {'refused', 'leased'}
end
if tonumber(record[6] or 0) > now then
  return {'refused', 'not_due'}
end

local fence, deliveries = tonumber(record[3]) + 1, tonumber(record[4]) + 1
local now_text = string.format('%.0f', now)
local ends = string.format('%.0f', now + tonumber(ARGV[8]))
redis.call('HSET', job, 'version', tonumber(record[2]) + 1, 'fence', fence, 'deliveries', deliveries,
  'worker', ARGV[7], 'lease_until_ms', ends, '_claim', token)
if not record[8] then
  redis.call('HSET', job, 'started_at_ms', now_text)
end
redis.call('ZADD', KEYS[4], ends, id)
if to ~= status then
  redis.call('HSET', job, 'status', '"' .. to .. '"')
  redis.call('ZREM', prefix .. 'status:' .. status, id)
  redis.call('ZADD', prefix .. 'status:' .. to, record[7], id)
  tell_status(KEYS[3], to, now_text)
end
redis.call('PUBLISH', ARGV[4], id .. ' ' .. to)
return claimed(fence)
