-- Removes what a user's plans added up to and what the user spent, with the entry of the audit trail
-- that tells of it.
-- Safe to send twice: where nothing is there any more, nothing is noted either.
--
-- KEYS[1] totals by hour  [2] corrections of them
-- ARGV[1] prefix of accounts  [2] the user's account
--     The last keys and the last argument: see `include/audit`; the state is "".
-- Result: 1, or 0 when there was nothing, or -1 when the chain has moved

-- include: accounts
-- include: audit

local known = {KEYS[1], KEYS[2]}
local seconds = tonumber(redis.call('TIME')[1])
-- The days of which something can be left (see `SPENT_KEPT_MS`).
for day = 0, 2 do
  known[3 + day] = spent_key(ARGV[1], ARGV[2], seconds - day * 86400)
end
if redis.call('EXISTS', unpack(known)) == 0 then
  return 0
end
if audit_moved('') then
  return -1
end
redis.call('DEL', unpack(known))
append_audit()
return 1
