-- A bucket of requests, kept as the time (µs) at which it will be full; absent, it is full.
-- A time that is more than a minute away is none that this clock has set: it was put back.
--
-- Answers 0 and has taken one request, or the time (ms) after which there will be one.

local MINUTE_US = 60000000

local function take_request(bucket, per_minute)
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local stored = tonumber(redis.call('GET', bucket) or 0)
  local full_at = math.max(now, math.min(stored, now + MINUTE_US))
  local taken = full_at + math.floor(MINUTE_US / per_minute)
  local wait = taken - now - MINUTE_US
  local kept = wait > 0 and full_at or taken
  if wait <= 0 or stored > kept then
    redis.call('SET', bucket, string.format('%.0f', kept), 'PX', math.ceil((kept - now) / 1000))
  end
  return wait > 0 and math.ceil(wait / 1000) or 0
end
