-- include clock
-- A host's heartbeat. KEYS 1 hosts   ARGV 1 join|beat|leave|list 2 host 3 life, ms   → OK | GONE | host…
-- A host that was declared dead (its entry is gone) gets GONE: it must stop, others may have its threads.
local now = now_ms()
if ARGV[1] == 'list' then return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf') end
if ARGV[1] == 'leave' then
  redis.call('ZREM', KEYS[1], ARGV[2])
  return {'OK'}
end
if ARGV[1] == 'beat' then
  local score = redis.call('ZSCORE', KEYS[1], ARGV[2])
  if not score or tonumber(score) <= now then return {'GONE'} end
end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 60000)
return {'OK'}
