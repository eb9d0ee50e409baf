-- Appends a version to a document.
-- Safe to send twice: an applied change leaves a receipt under its token.
--
-- KEYS[1] document  [2] collection  [3] receipt
-- ARGV[1] name  [2] JSON  [3] expected newest version, or ""  [4] receipts live for (ms)
-- Result: the new version, or 0 when another version is the newest

local receipt = redis.call('GET', KEYS[3])
if receipt then
  return tonumber(receipt)
end
if ARGV[3] ~= '' and redis.call('LLEN', KEYS[1]) ~= tonumber(ARGV[3]) then
  return 0
end
local version = redis.call('RPUSH', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], version, 'PX', ARGV[4])
return version
