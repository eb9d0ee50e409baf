-- Removes what a user's plans added up to, with the entry of the audit trail that tells of it.
-- Safe to send twice: where nothing is there any more, nothing is noted either.
--
-- KEYS[1] totals by hour  [2] corrections of them
-- ARGV[1] what `include/audit` gets, as the last keys are; the state is ""
-- Result: 1, or 0 when there was nothing, or -1 when the chain has moved

-- include: audit

if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then
  return 0
end
if audit_moved('') then
  return -1
end
redis.call('DEL', KEYS[1], KEYS[2])
append_audit()
return 1
