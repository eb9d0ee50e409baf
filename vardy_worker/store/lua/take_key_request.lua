-- Takes one request of a key from its bucket, if the key is still what the caller knows of it.
-- Written to no file and no replica, as in `take_request`.
-- Safe to send twice: it takes a second request then, of a key that lost its connection.
--
-- KEYS[1] document of the key  [2] bucket
-- ARGV[1] its newest version as the caller knows it  [2] requests of a minute
-- Result: -1, and nothing is taken, when it is another one | 0 | the time (ms) after which there will be one

-- include: rate

if redis.call('LINDEX', KEYS[1], -1) ~= ARGV[1] then
  return -1
end
redis.set_repl(redis.REPL_NONE)
return take_request(KEYS[2], tonumber(ARGV[2]))
