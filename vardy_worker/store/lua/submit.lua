-- Stores a new job, its index entries, its due time and its Idempotency-Key, in one step, unless a
-- ceiling of its key or its person is reached.
-- Safe to send twice: job ids are unique, so a job that exists already is this very call.
--
-- KEYS[1] job  [2] due  [3] Idempotency-Key, or "" without one  [4] events
--     [5] the person's bucket of submissions
-- ARGV[1] job id  [2] index prefix  [3] created at (ms)  [4] due at (ms)
--     [5] SHA-256 of the body  [6] keep the Idempotency-Key for (ms)
--     [7] prefix of job keys  [8] prefix of accounts  [9] its accounts, as in `_accounts`
--     [10] unsettled statuses as "|A|B|"  [11] number of accounts with a ceiling, then of each its name,
--     jobs at once, tokens and micro-dollars of a day, where 0 is none
--     then jobs of a minute that its person may have submitted, where 0 is any number
--     then the number of indexes, then their names, then pairs of field and JSON
--     The last keys and the last argument: see `include/audit`; the state is "".
-- Result: {"submitted", job id} | {"replayed", job id} | {"key_reused", job id} | {"moved"}
--     | {"exceeded", account, ceiling, used, seconds since the epoch} | {"limited", time to wait (ms)}

-- include: accounts
-- include: audit
-- include: rate
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

-- How many jobs of an account are unsettled. Before so many are too many, some are looked at, as
-- a worker of an older version, which knows no accounts, leaves jobs in them that it settles.
local function unsettled(account)
  local jobs = ARGV[8] .. account .. ':jobs'
  for _, other in ipairs(redis.call('SRANDMEMBER', jobs, 20)) do
    local status = redis.call('HGET', ARGV[7] .. other, 'status')
    if not status or not string.find(ARGV[10], '|' .. string.sub(status, 2, -2) .. '|', 1, true) then
      redis.call('SREM', jobs, other)
    end
  end
  return redis.call('SCARD', jobs)
end

local function exceeded(at, seconds)
  local account, jobs_max = ARGV[at], tonumber(ARGV[at + 1])
  if jobs_max > 0 and redis.call('SCARD', ARGV[8] .. account .. ':jobs') >= jobs_max then
    local jobs = unsettled(account)
    if jobs >= jobs_max then
      return {'exceeded', account, 'jobs_max', jobs, seconds}
    end
  end
  local tokens_max, micro_max = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if tokens_max > 0 or micro_max > 0 then
    local spent = redis.call('HMGET', spent_key(ARGV[8], account, seconds), 'tokens', 'micro_usd')
    local tokens, micro = tonumber(spent[1] or 0), tonumber(spent[2] or 0)
    if tokens_max > 0 and tokens >= tokens_max then
      return {'exceeded', account, 'tokens_per_day', tokens, seconds}
    elseif micro_max > 0 and micro >= micro_max then
      return {'exceeded', account, 'cost_usd_per_day', micro, seconds}
    end
  end
end

if claim ~= '' then
  local known = redis.call('HMGET', claim, 'job_id', 'body')
  -- A job that has expired or was deleted no longer occupies its key.
  if known[1] and redis.call('EXISTS', ARGV[7] .. known[1]) == 1 then
    local same = known[2] == ARGV[5]
    redis.call('PEXPIRE', claim, redis.call('PTTL', claim))
    return {same and 'replayed' or 'key_reused', known[1]}
  end
end

local at = 12
local limited = tonumber(ARGV[11])
local seconds = limited > 0 and tonumber(redis.call('TIME')[1])
for _ = 1, limited do
  local refusal = exceeded(at, seconds)
  if refusal then
    return refusal
  end
  at = at + 4
end
local per_minute = tonumber(ARGV[at])
at = at + 1
local wait = per_minute > 0 and take_request(KEYS[5], per_minute) or 0
if wait > 0 then
  return {'limited', wait}
end

if claim ~= '' then
  redis.call('HSET', claim, 'job_id', id, 'body', ARGV[5])
  redis.call('PEXPIRE', claim, ARGV[6])
end
local indexes = tonumber(ARGV[at])
at = at + 1
for _ = 1, indexes do
  redis.call('ZADD', prefix .. ARGV[at], created, id)
  at = at + 1
end
redis.call('HSET', job, unpack(ARGV, at, #ARGV - 1))
redis.call('ZADD', due, ARGV[4], id)
account_job('SADD', ARGV[8], ARGV[9], id)
tell_status(KEYS[4], 'QUEUED', created)
append_audit()
return {'submitted', id}
