-- include clock
-- A run that nobody works on: its host died, or has given it up and says so itself. It waits for somebody to send it
-- again: with its invocation_state, which only its caller has, or when what was in its way is mended.
-- KEYS 1 run 2 hosts 3 head   ARGV 1 run 2 reason 3 host that asks   → OK | ALIVE | ENDED
-- A host that takes the run over meanwhile has written its own name into it and is alive: nothing is changed. The
-- thread is free from now on, else it would be held for as long as a host lives that does nothing with it.
local known = redis.call('HMGET', KEYS[1], 'status', 'host')
if known[1] ~= 'running' then return {'ENDED'} end
local alive = redis.call('ZSCORE', KEYS[2], known[2] or '')
if known[2] ~= ARGV[3] and alive and tonumber(alive) > now_ms() then return {'ALIVE'} end
redis.call('HSET', KEYS[1], 'status', 'interrupted', 'reason', ARGV[2])
local holder = redis.call('HMGET', KEYS[3], 'run', 'host')
if holder[1] == ARGV[1] and holder[2] == known[2] then redis.call('HSET', KEYS[3], 'run', '', 'host', '') end
return {'OK'}
