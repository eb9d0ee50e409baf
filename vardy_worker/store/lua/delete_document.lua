-- Deletes every version of a document.
-- Safe to send twice: an applied deletion leaves a receipt under its token.
--
-- KEYS[1] document  [2] collection  [3] receipt
-- ARGV[1] name  [2] receipts live for (ms)
--     The last keys and the last argument: see `include/audit`; the state is the newest version.
-- Result: 1, or 0 when there was none, or -1 when the chain has moved

-- include: audit

if redis.call('EXISTS', KEYS[3]) == 1 then
  -- Written again, as what waits for disk and replicas looks at this connection's writes alone (see `scripts`).
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
  return 1
end
local newest = redis.call('LLEN', KEYS[1])
if newest == 0 then
  return 0
end
if audit_moved(tostring(newest)) then
  return -1
end
append_audit()
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], 1, 'PX', ARGV[2])
return 1
