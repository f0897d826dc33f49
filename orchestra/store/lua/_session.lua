-- A session's keys: 1 items (list of JSON texts) 2 meta (hash) 3, 4 operations (hashes that take turns, below).
-- ARGV 1 operation id 2 time to live in milliseconds ('' = none) of every script that writes.
--
-- The ids of the operations of the last five to ten minutes. Minutes 0-5 go to one hash, 5-10 to the other, and so on;
-- each is gone when its turn comes again, so memory follows the rate of writing and nothing is searched for old ids.
local SLOT_MS = 300000
local function answered(op)
  return redis.call('HGET', KEYS[3], op) or redis.call('HGET', KEYS[4], op)
end
local function remember(op, answer, now)
  local slot = math.floor(now / SLOT_MS)
  local key = KEYS[3 + slot % 2]
  redis.call('HSET', key, op, answer)
  redis.call('PEXPIREAT', key, string.format('%.0f', (slot + 2) * SLOT_MS))
end
-- `generation` names this history: an append keeps it, everything that takes items away gives it the id of that
-- operation. So a compaction that read generation g may replace what it read exactly when g is still there, also when
-- the session was cleared and refilled to the same length meanwhile.
local function touch(op, ttl, now, moved)
  local meta, at = KEYS[2], string.format('%.0f', now)
  if redis.call('HSETNX', meta, 'created_at', at) == 1 then
    redis.call('HSET', meta, 'schema', 1, 'generation', op, 'updated_at', at)
  elseif moved then
    redis.call('HSET', meta, 'generation', op, 'updated_at', at)
  else
    redis.call('HSET', meta, 'updated_at', at)
  end
  if ttl ~= '' then
    redis.call('PEXPIRE', KEYS[1], ttl)
    redis.call('PEXPIRE', meta, ttl)
  end
end
-- Lua passes a few thousand values at most.
local function push(first)
  for i = first, #ARGV, 1000 do
    redis.call('RPUSH', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV)))
  end
end
