-- A session's keys: 1 items (list of JSON texts) 2 meta (hash) 3, 4 operations (hashes that take turns, below).
-- ARGV 1 operation id 2 time to live in milliseconds ('' = none) of every script that writes.
--
-- The ids of the operations of the last five to ten minutes. Minutes 0-5 go to one hash, 5-10 to the other, and so on;
-- each is gone when its turn comes again, so memory follows the rate of writing and nothing is searched for old ids.
local SLOT_MS = 300000
-- The answer that this operation has had, or nothing: then its id is taken, and the caller writes.
local function claim(now)
  local slot = math.floor(now / SLOT_MS)
  local key, other = KEYS[3 + slot % 2], KEYS[4 - slot % 2]
  local known = redis.call('HGET', other, ARGV[1])
  if known then return known end
  if redis.call('HSETNX', key, ARGV[1], '') == 0 then return redis.call('HGET', key, ARGV[1]) end
  redis.call('PEXPIREAT', key, string.format('%.0f', (slot + 2) * SLOT_MS))
end
-- What a claimed operation answers when it comes again.
local function remember(answer, now)
  redis.call('HSET', KEYS[3 + math.floor(now / SLOT_MS) % 2], ARGV[1], answer)
end
-- The claim of an operation that came to nothing.
local function forget(now)
  redis.call('HDEL', KEYS[3 + math.floor(now / SLOT_MS) % 2], ARGV[1])
end
-- `generation` names this history: an append keeps it, everything that takes items away gives it the id of that
-- operation. So a compaction that read generation g may replace what it read exactly when g is still there, also when
-- the session was cleared and refilled to the same length meanwhile.
local function touch(now, moved)
  local meta, at = KEYS[2], string.format('%.0f', now)
  if redis.call('HSET', meta, 'updated_at', at) == 1 then
    redis.call('HSET', meta, 'created_at', at, 'schema', 1, 'generation', ARGV[1])
  elseif moved then
    redis.call('HSET', meta, 'generation', ARGV[1])
  end
  if ARGV[2] ~= '' then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('PEXPIRE', meta, ARGV[2])
  end
end
-- Lua passes a few thousand values at most.
local function push(first)
  for i = first, #ARGV, 1000 do
    redis.call('RPUSH', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV)))
  end
end
