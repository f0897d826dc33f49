-- include clock life
-- Claim the closing of one session, or keep the claim that one has. `closing` holds what was asked for, `closes` the
-- times at which sessions have been idle for long enough or their day is over.
-- KEYS 1 closing 2 closes 3 head 4 pass 5 token   ARGV 1 thread 2 host 3 claim 4 lease, ms 5 '1' = only keep it
-- → OK token edition seq turn user closed passage tries calls | NONE | TAKEN
-- The same claim again (a lost reply, or a renewal): the same token, and the lease begins anew.
-- A session that has ended, or that is closed already, leaves the queue. A worker that died has a lease that ends: the
-- entry comes due again by itself. A time that has come becomes an entry of the queue here, in one step, so it is
-- never in neither; one that lies ahead (there was a turn since) stays.
local thread, now = ARGV[1], now_ms()
local h = redis.call('HMGET', KEYS[3], 'edition', 'seq', 'turn', 'user')
if not h[1] then
  redis.call('ZREM', KEYS[1], thread)
  redis.call('ZREM', KEYS[2], thread)
  return {'NONE'}
end
local score, timer = redis.call('ZSCORE', KEYS[1], thread), redis.call('ZSCORE', KEYS[2], thread)
local rung = timer and tonumber(timer) <= now
if not score and not rung then return {'NONE'} end
local p = redis.call('HMGET', KEYS[4], 'close_claim', 'close_token', 'closed', 'closed_edition', 'closed_passage',
  'close_tries', 'calls')
local token = p[2]
if p[1] ~= ARGV[3] then
  if ARGV[5] == '1' or (score and tonumber(score) > now) then return {'TAKEN'} end
  if rung then redis.call('ZREM', KEYS[2], thread) end
  if p[3] == h[2] and p[4] == h[1] then
    redis.call('ZREM', KEYS[1], thread)
    return {'NONE'}
  end
  token = redis.call('INCR', KEYS[5])
  redis.call('HSET', KEYS[4], 'close_token', token, 'close_claim', ARGV[3], 'close_host', ARGV[2])
  follow(KEYS[3], {KEYS[4]})
end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[4]), thread)
return {'OK', token, h[1], h[2], h[3], h[4] or '', p[3] or '0', p[5] or '', p[6] or '0', p[7] or '0'}
