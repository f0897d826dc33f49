-- include clock
-- A closing that did not work out. KEYS 1 pass 2 closing 3 events   ARGV 1 thread 2 token 3 error 4 max tries
--   5 backoff, ms 6 reason (failed: counts as a try | again: at once, does not count | skip: dropped)
-- → OK | ASIDE | FENCED
-- Nothing was published. After max tries the session leaves the queue with its error; the next closing covers it.
if redis.call('HGET', KEYS[1], 'close_token') ~= ARGV[2] then return {'FENCED'} end
local now, tries = now_ms(), tonumber(redis.call('HGET', KEYS[1], 'close_tries') or '0')
if ARGV[6] == 'failed' then tries = tries + 1 end
local aside = ARGV[6] == 'skip' or tries >= tonumber(ARGV[4])
redis.call('HSET', KEYS[1], 'close_token', 0, 'close_claim', '', 'close_error', ARGV[3], 'close_tries', aside and 0 or tries)
if aside then
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[2], 'XX', now + tonumber(ARGV[5]), ARGV[1])
end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'type', 'closed', 'thread', ARGV[1], 'status',
  ARGV[6] == 'skip' and 'skipped' or (aside and 'aside' or ARGV[6]), 'passage', '', 'error', ARGV[3])
return {aside and 'ASIDE' or 'OK'}
