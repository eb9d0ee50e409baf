-- Tells of a status in a job's events, as every change of it does.

local function tell_status(events, status, at_ms)
  redis.call('RPUSH', events, '{"type":"status","data":{"status":"' .. status .. '"},"at_ms":' .. at_ms .. '}')
end
