-- Marks a commit; its worker stops before the next effect. One that waits for its next try is
-- due at once, so that a cancel does not wait with it.
-- Safe to send twice: the first mark stays, and only it leaves an event. The version stays,
-- so that the mark cannot make the worker's own compare-and-set fail.
--
-- KEYS[1] job  [2] events  [3] due
-- ARGV[1] job id  [2] change channel  [3] who asks, as JSON
--     The last keys and the last argument: see `include/audit`; the state is the status.
-- Result: 1, or 0 when the job is not COMMITTING, or -1 when the chain has moved

-- include: audit

local record = redis.call('HMGET', KEYS[1], 'status', 'cancel_requested_by', 'lease_until_ms')
if record[1] ~= '"COMMITTING"' then
  return 0
end
if record[2] and record[2] ~= '""' then
  return 1
end
if audit_moved(string.sub(record[1], 2, -2)) then
  return -1
end
append_audit()
redis.call('HSET', KEYS[1], 'cancel_requested_by', ARGV[3])
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('RPUSH', KEYS[2], '{"type":"status","data":{"status":' .. record[1] .. ',"cancel_requested_by":'
  .. ARGV[3] .. '},"at_ms":' .. now .. '}')
if tonumber(record[3]) == 0 then
  redis.call('HSET', KEYS[1], 'not_before_ms', 0)
  redis.call('ZADD', KEYS[3], now, ARGV[1])
end
local ttl = redis.call('PTTL', KEYS[1])
if ttl >= 0 then
  redis.call('PEXPIRE', KEYS[2], ttl)
end
redis.call('PUBLISH', ARGV[2], ARGV[1])
return 1
