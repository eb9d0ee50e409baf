-- Appends a version to a document.
-- Safe to send twice: an applied change leaves a receipt under its token.
--
-- KEYS[1] document  [2] collection  [3] receipt
-- ARGV[1] name  [2] JSON  [3] expected newest version, or ""  [4] receipts live for (ms)
--     The last keys and the last argument: see `include/audit`; the state is the newest version.
-- Result: the new version, or 0 when another version is the newest, or -1 when the chain has moved

-- include: audit

local receipt = redis.call('GET', KEYS[3])
if receipt then
  -- Written again, as what waits for disk and replicas looks at this connection's writes alone (see `scripts`).
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
  return tonumber(receipt)
end
local newest = redis.call('LLEN', KEYS[1])
if ARGV[3] ~= '' and newest ~= tonumber(ARGV[3]) then
  return 0
end
if audit_moved(tostring(newest)) then
  return -1
end
append_audit()
local version = redis.call('RPUSH', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], version, 'PX', ARGV[4])
return version
