-- What accounts use, and what of one job's spending is among it.
-- Safe to send twice: it only reads.
--
-- KEYS[1] job, or ""
-- ARGV[1] prefix of accounts  then names of accounts
-- Result: {seconds since the epoch, the job's `_spent` or "", {jobs, tokens, micro_usd} of each account…}

-- include: accounts

local seconds = tonumber(redis.call('TIME')[1])
local result = {seconds, KEYS[1] ~= '' and redis.call('HGET', KEYS[1], '_spent') or ''}
for at = 2, #ARGV do
  local spent = redis.call('HMGET', spent_key(ARGV[1], ARGV[at], seconds), 'tokens', 'micro_usd')
  local jobs = redis.call('SCARD', ARGV[1] .. ARGV[at] .. ':jobs')
  result[#result + 1] = {jobs, tonumber(spent[1] or 0), tonumber(spent[2] or 0)}
end
return result
