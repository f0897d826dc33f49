-- include clock life
-- Claim one due thread for one sleep-time worker. The score of a due thread is the time from which it may be claimed;
-- raising it is the lease, and when a worker dies the score comes due again by itself.
-- `idles` holds the times at which sessions will have been silent for long enough. One that has come becomes an entry of
-- the queue here, in one step, so it is never in neither; one that lies ahead (something was said since) stays.
-- KEYS 1 due 2 pass 3 head 4 token 5 idles 6 log   ARGV 1 thread 2 host 3 claim 4 lease, ms
-- → OK token edition seq turn watermark watermark_turn due_turn tries error user entries interval next | NONE | TAKEN
-- A session whose time to live has ended, or that was deleted while a turn made it due, has nothing to tidy: it leaves the
-- queue, and nobody looks for it again and again.
-- The same claim twice (lost reply): the same answer again.
local score, timer = redis.call('ZSCORE', KEYS[1], ARGV[1]), redis.call('ZSCORE', KEYS[5], ARGV[1])
if not score and not timer then return {'NONE'} end
if redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[5], ARGV[1])
  redis.call('DEL', KEYS[2])
  return {'NONE'}
end
if timer and tonumber(timer) <= now_ms() then
  local quiet = redis.call('HMGET', KEYS[3], 'run', 'held_by', 'turn', 'watermark_turn')
  if (quiet[1] or '') ~= '' and (quiet[2] or '') == '' then
    -- Somebody is being answered: the turn's end sets the time anew. Looked at again in a while, in case it never comes.
    redis.call('ZADD', KEYS[5], now_ms() + tonumber(ARGV[4]), ARGV[1])
  else
    redis.call('ZREM', KEYS[5], ARGV[1])
    if tonumber(quiet[3]) > tonumber(quiet[4]) then
      redis.call('ZADD', KEYS[1], 'NX', now_ms(), ARGV[1])
      redis.call('HSET', KEYS[3], 'due_turn', quiet[3])
    end
  end
  score = redis.call('ZSCORE', KEYS[1], ARGV[1])
end
if not score then return {'NONE'} end
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
local p = redis.call('HMGET', KEYS[2], 'tries', 'error', 'interval', 'next')
return {'OK', token, h[1] or '0', h[2] or '0', h[3] or '0', h[4] or '0', h[5] or '0', h[6] or '0', p[1] or '0', p[2] or '',
  h[7] or '', redis.call('LLEN', KEYS[6]), p[3] or '0', p[4] or ''}
