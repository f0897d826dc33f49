-- Attach or detach one block. KEYS 1 attach 2 users of the ref 3 block 4 def   ARGV 1 attach|detach 2 agent 3 ref
--   4 attach version the caller saw 5 order access kind ('' = remove the entry)
-- → OK version | SAME version | STALE | UNKNOWN | NOAGENT
-- The caller checked that no other block of the agent has this label, on the version that is compared here.
if redis.call('EXISTS', KEYS[4]) == 0 then return {'NOAGENT'} end
local version = redis.call('HGET', KEYS[1], '@version') or '0'
if version ~= ARGV[4] then return {'STALE'} end
local now = redis.call('HGET', KEYS[1], ARGV[3])
if ARGV[1] == 'attach' then
  if redis.call('EXISTS', KEYS[3]) == 0 then return {'UNKNOWN'} end
  if now == ARGV[5] then return {'SAME', version} end
  redis.call('SADD', KEYS[2], ARGV[2])
else
  if not now then return {'UNKNOWN'} end
  redis.call('SREM', KEYS[2], ARGV[2])
end
if ARGV[5] == '' then redis.call('HDEL', KEYS[1], ARGV[3]) else redis.call('HSET', KEYS[1], ARGV[3], ARGV[5]) end
return {'OK', redis.call('HINCRBY', KEYS[1], '@version', 1)}
