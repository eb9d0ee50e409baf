-- What keys and people use. A job names its two accounts in `_accounts`, apart by a space; one
-- of an older version has none. Names of keys are an account's name behind the prefix (see `keys`).

local SPENT_KEPT_MS = 2 * 86400000

local function spent_key(prefix, account, seconds)
  return prefix .. account .. ':spent:' .. string.format('%.0f', math.floor(seconds / 86400))
end

-- Enters a job among the unsettled ones of its accounts (SADD), or takes it out (SREM).
local function account_job(command, prefix, accounts, id)
  for account in string.gmatch(accounts or '', '%S+') do
    redis.call(command, prefix .. account .. ':jobs', id)
  end
end

-- Adds to the day what a job has spent beyond what was added before, which its `_spent` remembers.
local function account_spending(job, prefix, accounts, before, tokens, micro_usd)
  if not accounts or before == tokens .. ' ' .. micro_usd then
    return
  end
  local old_tokens, old_micro = string.match(before or '0 0', '^(%d+) (%d+)$')
  -- What was spent is spent: nothing is taken back.
  local more_tokens = math.max(tonumber(tokens) - tonumber(old_tokens), 0)
  local more_micro = math.max(tonumber(micro_usd) - tonumber(old_micro), 0)
  if more_tokens == 0 and more_micro == 0 then
    return
  end
  local seconds = tonumber(redis.call('TIME')[1])
  for account in string.gmatch(accounts, '%S+') do
    local key = spent_key(prefix, account, seconds)
    if redis.call('HINCRBY', key, 'tokens', string.format('%.0f', more_tokens)) == more_tokens then
      -- At the first of the day, and harmless at another.
      redis.call('PEXPIRE', key, SPENT_KEPT_MS)
    end
    if more_micro > 0 then
      redis.call('HINCRBY', key, 'micro_usd', string.format('%.0f', more_micro))
    end
  end
  redis.call('HSET', job, '_spent',
    string.format('%.0f %.0f', old_tokens + more_tokens, old_micro + more_micro))
end
