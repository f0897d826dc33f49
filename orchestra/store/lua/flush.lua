-- include life
-- Note how the memory flush of a cycle went: done, or failed (so many failures in a row count as done).
-- KEYS 1 head 2 context 3 events
-- ARGV 1 thread 2 run 3 token 4 cycle, captured before the flush 5 done|failed 6 failures after which it counts as done
--      7 reason
-- → OK flushed failures | DUP flushed failures | FENCED token | MOVED cycle
-- Two workers on one session: the flush runs under the thread's lease, so the second one begins when this is noted and
--   sees it; one that lost its lease meanwhile is FENCED. A compaction between the flush and this: MOVED, what was saved
--   is saved, and the new cycle has its own flush. The same call twice (lost reply): the run is noted, DUP.
local lease = redis.call('HMGET', KEYS[1], 'token', 'run')
if lease[1] ~= ARGV[3] or lease[2] ~= ARGV[2] then return {'FENCED', lease[1] or ''} end
local c = redis.call('HMGET', KEYS[2], 'cycle', 'flushed', 'failures', 'flush_run')
local cycle = tonumber(c[1] or '0')
if c[4] == ARGV[2] then return {'DUP', c[2] or '', tonumber(c[3] or '0')} end
if cycle ~= tonumber(ARGV[4]) then return {'MOVED', cycle} end
local failures, flushed = 0, c[2] or ''
if ARGV[5] == 'failed' then failures = tonumber(c[3] or '0') + 1 end
if ARGV[5] == 'done' or failures >= tonumber(ARGV[6]) then
  flushed = ARGV[4]
  redis.call('HSET', KEYS[2], 'flushed', flushed)
end
redis.call('HSET', KEYS[2], 'version', 'flush ' .. ARGV[2], 'failures', failures, 'flush_run', ARGV[2])
follow(KEYS[1], {KEYS[2]})
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'type', 'flush', 'thread', ARGV[1], 'run', ARGV[2],
  'cycle', ARGV[4], 'status', ARGV[5], 'failures', failures, 'reason', ARGV[7])
return {'OK', flushed, failures}
