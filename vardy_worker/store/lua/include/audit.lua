-- The audit part of a change, appended in the same step or not at all. Their hashes are made
-- outside, as Lua has no SHA-256, for one head of the chain and one state of what is changed;
-- where either is another one by now, the script changes nothing and answers {"moved"}.
--
-- The last four KEYS: chain, heads, names of chains, log. The last ARGV: "" for no entries, or
-- JSON {"chain": name, "head": newest entry as the heads have it, "state": what the entries
-- take for the state before, "entries": [JSON…], "n": number of the first, "next": new head}

local audit = ARGV[#ARGV] ~= '' and cjson.decode(ARGV[#ARGV])

local function audit_moved(state)
  return audit and (audit.state ~= state or (redis.call('HGET', KEYS[#KEYS - 2], audit.chain) or '') ~= audit.head)
end

local function append_audit()
  if not audit then
    return
  end
  for at, entry in ipairs(audit.entries) do
    redis.call('RPUSH', KEYS[#KEYS - 3], entry)
    redis.call('XADD', KEYS[#KEYS], '*', 'chain', audit.chain, 'n', string.format('%.0f', audit.n + at - 1))
  end
  redis.call('HSET', KEYS[#KEYS - 2], audit.chain, audit.next)
  if audit.n == 1 then
    redis.call('ZADD', KEYS[#KEYS - 1], 0, audit.chain)
  end
end
