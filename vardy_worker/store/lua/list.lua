-- One stretch of a listing, newest first: walks the given indexes merged, keeps the jobs that
-- are in one index of every further group, and stops after `limit` jobs or `scan` entries.
-- Writes only to drop entries of jobs that have expired, so sending it twice is harmless.
--
-- KEYS[1..n] the indexes to walk
-- ARGV[1] prefix of job keys  [2] limit  [3] scan
--     [4] score and [5] id of the last entry seen, or ""  [6] scores must be above this, or ""
--     [7] JSON list of groups, each a list of index keys  then the fields to return
-- Result: {score and id of the last entry seen, or "" at the end, entries scanned, {id, field…}…}

local prefix, limit, scan = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local after_score, after_id, floor = ARGV[4], ARGV[5], tonumber(ARGV[6])
local groups = cjson.decode(ARGV[7])
local chunk = math.min(scan, math.max(limit, 100))

-- One walker an index: its entries are fetched by chunks and given out one by one.
local function fill(walker)
  local got = redis.call('ZREVRANGE', walker.key, walker.rank, walker.rank + chunk - 1, 'WITHSCORES')
  walker.rank, walker.entries, walker.at = walker.rank + #got / 2, got, 1
end

local function peek(walker)
  if walker.at > #walker.entries then
    fill(walker)
  end
  return walker.entries[walker.at], tonumber(walker.entries[walker.at + 1])
end

local function open(key)
  local walker = {key = key, rank = 0, entries = {}, at = 1}
  if after_score ~= '' then
    walker.rank = redis.call('ZCOUNT', key, '(' .. after_score, '+inf')
    local score = tonumber(after_score)
    -- Within one millisecond entries are ordered by id, and the earlier page may have ended there.
    local id, at = peek(walker)
    while id and at == score and id >= after_id do
      walker.at = walker.at + 2
      id, at = peek(walker)
    end
  end
  return walker
end

local function member(id)
  for _, group in ipairs(groups) do
    local found = false
    for _, key in ipairs(group) do
      if redis.call('ZSCORE', key, id) then
        found = true
        break
      end
    end
    if not found then
      return false
    end
  end
  return true
end

local walkers, fields = {}, {}
for _, key in ipairs(KEYS) do
  walkers[#walkers + 1] = open(key)
end
for at = 8, #ARGV do
  fields[#fields + 1] = ARGV[at]
end

local found, scanned, last_score, last_id = {}, 0, '', ''
while #found < limit and scanned < scan do
  local newest, id, score
  for _, walker in ipairs(walkers) do
    local its_id, its_score = peek(walker)
    if its_id and (not id or its_score > score or (its_score == score and its_id > id)) then
      newest, id, score = walker, its_id, its_score
    end
  end
  if not id or (floor and score <= floor) then
    last_score, last_id = '', ''
    break
  end
  newest.at = newest.at + 2
  scanned = scanned + 1
  last_score, last_id = string.format('%.0f', score), id
  if member(id) then
    local record = redis.call('HMGET', prefix .. id, unpack(fields))
    if record[1] then
      table.insert(record, 1, id)
      found[#found + 1] = record
    else
      redis.call('ZREM', newest.key, id)
      newest.rank = newest.rank - 1
    end
  end
end
return {last_score, last_id, scanned, found}
