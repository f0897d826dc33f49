-- Store a definition and what its agent's blocks are. KEYS 1 def 2 attach 3 agents, 4 old users… new users…
-- ARGV 1 name 2 json 3 hash 4 attach version it was computed from 5 number of old refs, then old refs…,
--      then (new ref, order access kind)…
-- → OK version | SAME version | STALE
-- A definition that is stored already needs no look at the list: registering again is one command.
local version = redis.call('HGET', KEYS[2], '@version') or '0'
if redis.call('HGET', KEYS[1], 'hash') == ARGV[3] then return {'SAME', version} end
if version ~= ARGV[4] then return {'STALE'} end
local old, at = tonumber(ARGV[5]), 5
for i = 1, old do
  redis.call('HDEL', KEYS[2], ARGV[at + i])
  redis.call('SREM', KEYS[3 + i], ARGV[1])
end
at = at + old
local key = 4 + old
while at < #ARGV do
  redis.call('HSET', KEYS[2], ARGV[at + 1], ARGV[at + 2])
  redis.call('SADD', KEYS[key], ARGV[1])
  at, key = at + 2, key + 1
end
version = redis.call('HINCRBY', KEYS[2], '@version', 1)
redis.call('HSET', KEYS[1], 'json', ARGV[2], 'hash', ARGV[3])
redis.call('SADD', KEYS[3], ARGV[1])
return {'OK', version}
