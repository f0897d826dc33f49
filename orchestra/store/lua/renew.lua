-- include clock
-- Keep the lease of a pass that is still working. KEYS 1 due 2 pass   ARGV 1 thread 2 token 3 lease, ms   → OK | FENCED
if redis.call('HGET', KEYS[2], 'token') ~= ARGV[2] then return {'FENCED'} end
redis.call('ZADD', KEYS[1], 'XX', now_ms() + tonumber(ARGV[3]), ARGV[1])
return {'OK'}
