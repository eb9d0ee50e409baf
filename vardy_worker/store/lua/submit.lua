-- Stores a new job, its index entries, its due time and its Idempotency-Key, in one step.
-- Safe to send twice: job ids are unique, so a job that exists already is this very call.
--
-- KEYS[1] job  [2] due  [3] Idempotency-Key, or "" without one  [4] events
-- ARGV[1] job id  [2] index prefix  [3] created at (ms)  [4] due at (ms)
--     [5] SHA-256 of the body  [6] keep the Idempotency-Key for (ms)
--     [7] prefix of job keys  [8] number of indexes, then their names
--     then pairs of field and JSON
--     The last keys and the last argument: see `include/audit`; the state is "".
-- Result: {"submitted", job id} | {"replayed", job id} | {"key_reused", job id} | {"moved"}

-- include: audit
-- include: tell

local job, due, claim = KEYS[1], KEYS[2], KEYS[3]
local id, prefix, created = ARGV[1], ARGV[2], ARGV[3]

local written = redis.call('HGET', job, 'created_at_ms')
if written then
  -- Written again, as what waits for disk and replicas looks at this connection's writes alone (see `scripts`).
  redis.call('HSET', job, 'created_at_ms', written)
  return {'submitted', id}
end

if audit_moved('') then
  return {'moved'}
end

if claim ~= '' then
  local known = redis.call('HMGET', claim, 'job_id', 'body')
  -- A job that has expired or was deleted no longer occupies its key.
  if known[1] and redis.call('EXISTS', ARGV[7] .. known[1]) == 1 then
    local same = known[2] == ARGV[5]
    redis.call('PEXPIRE', claim, redis.call('PTTL', claim))
    return {same and 'replayed' or 'key_reused', known[1]}
  end
  redis.call('HSET', claim, 'job_id', id, 'body', ARGV[5])
  redis.call('PEXPIRE', claim, ARGV[6])
end

local indexes = tonumber(ARGV[8])
local at = 9
for _ = 1, indexes do
  redis.call('ZADD', prefix .. ARGV[at], created, id)
  at = at + 1
end
redis.call('HSET', job, unpack(ARGV, at, #ARGV - 1))
redis.call('ZADD', due, ARGV[4], id)
tell_status(KEYS[4], 'QUEUED', created)
append_audit()
return {'submitted', id}
