-- Applies one compare-and-set to a job: all of it, or nothing.
-- Safe to send twice: an applied change leaves a receipt with its token in the record, and a
-- second copy is answered from it. The newest receipts are kept, far more than changes can come
-- between two sendings. A refused change changes nothing, so judging it again is harmless.
--
-- KEYS[1] job  [2] effects  [3] journal  [4] events  [5] console
--     [6] due  [7] expiring  [8] indexes of expiring jobs
--     [9] corrections of the requester's totals, or "" without one  [10] the totals, or ""
-- ARGV[1] token  [2] job id  [3] index prefix  [4] change channel
--     [5] expected statuses as "|A|B|"  [6] new status, or ""
--     [7] expected fence, or ""  [8] expected version, or ""
--     [9] due at (ms), "keep" or "never"  [10] "1" gives the lease back
--     [11] let the job expire after (ms), "" leaves it, "live" ends an expiry
--     [12] length of all receipts that are kept, in bytes
--     [13] "1" refuses a job whose cancelling was asked for
--     [14] [15] [16] [17] numbers of fields, effects, journal entries, events
--     [18] JSON of a correction  [19] keep it for (ms)  [20] era of the totals that it corrects: where
--     they were erased since, it is not kept  [21] "1" when the events tell of the new status
--     [22] prefix of accounts  [23] "1" when the new status is unsettled
--     [24] [25] tokens and micro-dollars that the job has spent by now, or ""
--     then pairs of field and JSON, pairs of position and JSON, JSON entries, JSON events
--     The last keys and the last argument: see `include/audit`; the state is "STATUS version".
-- Result: {"changed", version} | {"conflict", status, version, fence, who asked to cancel (JSON)} | {"missing"}
--     | {"moved"}

-- include: accounts
-- include: audit
-- include: send
-- include: tell

local job = KEYS[1]
local token, id, prefix = ARGV[1], ARGV[2], ARGV[3]

local now = redis.call('HMGET', job, 'status', 'version', 'fence', 'created_at_ms', 'cancel_requested_by', '_receipts',
  '_accounts', '_spent')
if not now[1] then
  return {'missing'}
end
local receipts = now[6] or ''
local _, found = string.find(receipts, ' ' .. token .. '=', 1, true)
if found then
  -- Written again, as what waits for disk and replicas looks at this connection's writes alone (see `scripts`).
  redis.call('HSET', job, '_receipts', receipts)
  return {'changed', tonumber(string.match(receipts, '^%d+', found + 1))}
end

local status, version, fence = string.sub(now[1], 2, -2), tonumber(now[2]), tonumber(now[3])
local cancelled_by = now[5] or '""'
if not string.find(ARGV[5], '|' .. status .. '|', 1, true)
  or (ARGV[7] ~= '' and tonumber(ARGV[7]) ~= fence)
  or (ARGV[8] ~= '' and tonumber(ARGV[8]) ~= version)
  or (ARGV[13] == '1' and cancelled_by ~= '""') then
  return {'conflict', status, version, fence, cancelled_by}
end
if audit_moved(status .. ' ' .. version) then
  return {'moved'}
end

version = version + 1
receipts = string.sub(receipts .. ' ' .. token .. '=' .. version, -tonumber(ARGV[12]))
redis.call('HSET', job, 'version', version, '_receipts', receipts)
local fields, effects = 2 * tonumber(ARGV[14]), 2 * tonumber(ARGV[15])
local entries, events = tonumber(ARGV[16]), tonumber(ARGV[17])
local at = 26
send('HSET', job, at, fields)
send('HSET', KEYS[2], at + fields, effects)
send('RPUSH', KEYS[3], at + fields + effects, entries)
send('RPUSH', KEYS[4], at + fields + effects + entries, events)

local to = ARGV[6]
if to ~= '' and to ~= status then
  redis.call('HSET', job, 'status', '"' .. to .. '"')
  redis.call('ZREM', prefix .. 'status:' .. status, id)
  redis.call('ZADD', prefix .. 'status:' .. to, now[4], id)
  account_job(ARGV[23] == '1' and 'SADD' or 'SREM', ARGV[22], now[7], id)
  if ARGV[21] ~= '1' then
    local time = redis.call('TIME')
    tell_status(KEYS[4], to, string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
  end
end
if ARGV[10] == '1' then
  redis.call('HSET', job, 'lease_until_ms', 0, 'deliveries', 0, 'worker', '""')
end

if ARGV[24] ~= '' then
  account_spending(job, ARGV[22], now[7], now[8], ARGV[24], ARGV[25])
end

if KEYS[9] ~= '' and redis.call('HGET', KEYS[10], '_era') == ARGV[20] then
  redis.call('RPUSH', KEYS[9], ARGV[18])
  redis.call('PEXPIRE', KEYS[9], ARGV[19])
end

if ARGV[9] == 'never' then
  redis.call('ZREM', KEYS[6], id)
elseif ARGV[9] ~= 'keep' then
  redis.call('ZADD', KEYS[6], ARGV[9], id)
end

local own = {job, KEYS[2], KEYS[3], KEYS[4], KEYS[5]}
if ARGV[11] == 'live' then
  if redis.call('ZREM', KEYS[7], id) == 1 then
    redis.call('HDEL', KEYS[8], id)
    for _, key in ipairs(own) do
      redis.call('PERSIST', key)
    end
  end
else
  local keep = tonumber(ARGV[11])
  if keep then
    local time = redis.call('TIME')
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + keep
    redis.call('ZADD', KEYS[7], string.format('%.0f', ends), id)
    redis.call('HSET', KEYS[8], id, redis.call('HGET', job, '_indexes'))
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

append_audit()
redis.call('PUBLISH', ARGV[4], id .. ' ' .. (to ~= '' and to or status))
return {'changed', version}
