-- Deletes every version of a document.
-- Safe to send twice: an applied deletion leaves a receipt under its token.
--
-- KEYS[1] document  [2] collection  [3] receipt
-- ARGV[1] name  [2] receipts live for (ms)
-- Result: 1, or 0 when there was none

if redis.call('EXISTS', KEYS[3]) == 1 then
  return 1
end
if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], 1, 'PX', ARGV[2])
return 1
