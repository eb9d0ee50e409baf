-- Takes one request from a bucket. It is written to no file and no replica: after a restart or
-- a failover the bucket is full, which costs less than a write to disk for every request.
-- Safe to send twice: it takes a second request then, of a key that lost its connection.
--
-- KEYS[1] bucket
-- ARGV[1] requests of a minute
-- Result: 0 | the time (ms) after which there will be one

-- include: rate

redis.set_repl(redis.REPL_NONE)
return take_request(KEYS[1], tonumber(ARGV[1]))
