-- Keeps what a program printed, no longer than the job itself.
-- Safe to send twice: it sets.
--
-- KEYS[1] job  [2] console
-- ARGV[1] JSON
-- Result: 1, or 0 when there is no such job, or its contents were erased

local ttl = redis.call('PTTL', KEYS[1])
if ttl == -2 or redis.call('HEXISTS', KEYS[1], 'erased_at_ms') == 1 then
  return 0
end
redis.call('SET', KEYS[2], ARGV[1])
if ttl >= 0 then
  redis.call('PEXPIRE', KEYS[2], ttl)
end
return 1
