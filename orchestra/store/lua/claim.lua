-- include clock life
-- Claim one due thread for one sleep-time worker. The score of a due thread is the time from which it may be claimed;
-- raising it is the lease, and when a worker dies the score comes due again by itself.
-- KEYS 1 due 2 pass 3 head 4 token   ARGV 1 thread 2 host 3 claim 4 lease, ms
-- → OK token edition seq turn watermark watermark_turn due_turn tries error user | NONE | TAKEN
-- A session whose time to live has ended has nothing to tidy: it leaves the queue.
-- The same claim twice (lost reply): the same answer again.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score then return {'NONE'} end
if redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('DEL', KEYS[2])
  return {'NONE'}
end
-- A thread that was deleted while a turn made it due: nobody is to look for it again and again.
if redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('DEL', KEYS[2])
  return {'NONE'}
end
local token
if redis.call('HGET', KEYS[2], 'claim') == ARGV[3] then
  token = redis.call('HGET', KEYS[2], 'token')
else
  local now = now_ms()
  if tonumber(score) > now then return {'TAKEN'} end
  token = redis.call('INCR', KEYS[4])
  redis.call('HSET', KEYS[2], 'token', token, 'host', ARGV[2], 'claim', ARGV[3], 'claimed_at', now)
  follow(KEYS[3], {KEYS[2]})
  redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[4]), ARGV[1])
end
local h = redis.call('HMGET', KEYS[3], 'edition', 'seq', 'turn', 'watermark', 'watermark_turn', 'due_turn', 'user')
local p = redis.call('HMGET', KEYS[2], 'tries', 'error')
return {'OK', token, h[1] or '0', h[2] or '0', h[3] or '0', h[4] or '0', h[5] or '0', h[6] or '0', p[1] or '0', p[2] or '',
  h[7] or ''}
