-- include clock due
-- A pass that did not work out. KEYS 1 pass 2 due 3 events 4 head 5 log   ARGV 1 thread 2 token 3 error 4 max tries
--   5 backoff, ms 6 reason (failed: counts as a try | again: at once, does not count | skip: dropped until the next
--   trigger) 7 due turn that this try was claimed for 8 what makes a pass due 9 seq and 10 turn of the claim
-- → OK tries | ASIDE tries | FENCED
-- Nothing of the pass was published. After max tries the thread leaves the queue with its error; the watermark stays, so
-- the next trigger covers the messages. A trigger that came while the last try worked is such a next one: it coalesced
-- with this entry of the queue, so the entry stays. The same when the turns since are enough to ask for a pass by a rule
-- that counts from the last one, which this try then stands for.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[2] then return {'FENCED'} end
local now, tries = now_ms(), tonumber(redis.call('HGET', KEYS[1], 'tries') or '0')
if ARGV[6] == 'failed' then tries = tries + 1 end
local aside = ARGV[6] == 'skip' or tries >= tonumber(ARGV[4])
redis.call('HSET', KEYS[1], 'token', 0, 'claim', '', 'error', ARGV[3], 'tries', aside and 0 or tries, 'aside', aside and 1 or 0,
  'failed_at', now)
local h = redis.call('HMGET', KEYS[4], 'due_turn', 'turn', 'edition')
local asked = tonumber(h[1] or '0') > tonumber(ARGV[7])
if aside and h[3] then
  redis.call('HSET', KEYS[4], 'asked', h[3] .. ' ' .. ARGV[9] .. ' ' .. ARGV[10])
  if due_by(ARGV[8], KEYS[4], KEYS[5], KEYS[1], tonumber(h[2])) then
    asked = true
    redis.call('HSET', KEYS[4], 'due_turn', h[2])
  end
end
if aside and not asked then
  redis.call('ZREM', KEYS[2], ARGV[1])
elseif aside then
  redis.call('ZADD', KEYS[2], 'XX', now, ARGV[1])
else
  redis.call('ZADD', KEYS[2], 'XX', now + tonumber(ARGV[5]), ARGV[1])
end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'type', 'pass', 'thread', ARGV[1], 'pass', '', 'status',
  ARGV[6] == 'skip' and 'skipped' or (aside and 'aside' or ARGV[6]), 'turn', '', 'error', ARGV[3])
return {aside and 'ASIDE' or 'OK', tries}
