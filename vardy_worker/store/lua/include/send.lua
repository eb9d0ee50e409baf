-- One command over many arguments, in pieces, as Lua's stack is small. The pieces have an even
-- number of arguments, so that no pair of field and value is torn.

local UNPACK_MAX = 1000

local function send(command, key, first, count)
  for from = first, first + count - 1, UNPACK_MAX do
    redis.call(command, key, unpack(ARGV, from, math.min(from + UNPACK_MAX, first + count) - 1))
  end
end
