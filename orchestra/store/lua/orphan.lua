-- include clock
-- A run whose host died and that needs an invocation_state which only its caller has: it waits for somebody to hand it in.
-- KEYS 1 run 2 hosts   → OK | ALIVE | ENDED
-- A host that takes the run over meanwhile has written its own name into it and is alive: nothing is changed.
local known = redis.call('HMGET', KEYS[1], 'status', 'host')
if known[1] ~= 'running' then return {'ENDED'} end
local alive = redis.call('ZSCORE', KEYS[2], known[2] or '')
if alive and tonumber(alive) > now_ms() then return {'ALIVE'} end
redis.call('HSET', KEYS[1], 'status', 'interrupted', 'reason', 'invocation_state')
return {'OK'}
