-- Puts what may stay of a job into the place of all that is stored of it, in one step.
-- Safe to send twice: the record that stays carries the token, by which a second copy is answered.
--
-- KEYS[1] job  [2] effects  [3] journal  [4] events  [5] console
--     [6] indexes of expiring jobs  [7] anchors of the audit trail
-- ARGV[1] token  [2] job id  [3] index prefix  [4] change channel  [5] expected version
--     [6] [7] [8] [9] numbers of fields, effects, journal entries, events
--     [10] [11] [12] numbers of audit entries, of indexes to leave and to enter
--     then pairs of field and JSON, pairs of position and JSON, JSON entries, JSON events,
--     pairs of number and JSON of an audit entry without its text, names of indexes
--     The last keys and the last argument: see `include/audit`; the state is "STATUS version".
-- Result: {"changed", version} | {"conflict", status, version, fence, who asked to cancel (JSON)} | {"missing"}
--     | {"moved"}

-- include: audit
-- include: send

local job = KEYS[1]
local token, id, prefix = ARGV[1], ARGV[2], ARGV[3]

local now = redis.call('HMGET', job, 'status', 'version', 'fence', 'created_at_ms', 'cancel_requested_by', '_receipts')
if not now[1] then
  return {'missing'}
end
local status, version = string.sub(now[1], 2, -2), tonumber(now[2])
if now[6] == ' ' .. token .. '=' .. version then
  -- Written again, as what waits for disk and replicas looks at this connection's writes alone (see `scripts`).
  redis.call('HSET', job, '_receipts', now[6])
  return {'changed', version}
end
if version ~= tonumber(ARGV[5]) then
  return {'conflict', status, version, tonumber(now[3]), now[5] or '""'}
end
if audit_moved(status .. ' ' .. version) then
  return {'moved'}
end

local ttl = redis.call('PTTL', job)
version = version + 1
redis.call('DEL', job, KEYS[2], KEYS[3], KEYS[4], KEYS[5])
local fields, effects, entries, events = 2 * ARGV[6], 2 * ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local texts, leave, enter = 2 * ARGV[10], tonumber(ARGV[11]), tonumber(ARGV[12])
local at = 13
send('HSET', job, at, fields)
redis.call('HSET', job, 'version', version, '_receipts', ' ' .. token .. '=' .. version)
at = at + fields
send('HSET', KEYS[2], at, effects)
at = at + effects
send('RPUSH', KEYS[3], at, entries)
at = at + entries
send('RPUSH', KEYS[4], at, events)
at = at + events

-- Older entries may have been trimmed since they were read.
local trimmed = tonumber(string.match(redis.call('HGET', KEYS[7], id) or '0', '^%d+'))
for entry = at, at + texts - 1, 2 do
  local place = tonumber(ARGV[entry]) - trimmed - 1
  if place >= 0 then
    redis.call('LSET', KEYS[#KEYS - 3], place, ARGV[entry + 1])
  end
end
at = at + texts

for name = at, at + leave - 1 do
  redis.call('ZREM', prefix .. ARGV[name], id)
end
at = at + leave
for name = at, at + enter - 1 do
  redis.call('ZADD', prefix .. ARGV[name], now[4], id)
end
if redis.call('HEXISTS', KEYS[6], id) == 1 then
  redis.call('HSET', KEYS[6], id, redis.call('HGET', job, '_indexes'))
end
if ttl >= 0 then
  for key = 1, 4 do
    redis.call('PEXPIRE', KEYS[key], ttl)
  end
end

append_audit()
redis.call('PUBLISH', ARGV[4], id)
return {'changed', version}
