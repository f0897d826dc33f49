-- include life
-- A compaction: a summary takes the place of the entries up to one of them, in the prompt; the log keeps them all.
-- KEYS 1 head 2 log 3 context 4 events
-- ARGV 1 thread 2 cycle and 3 edition that the summary was made from 4 upto seq 5 entries up to it 6 summary (JSON)
--      7 tokens before 8 tokens after 9 reason
-- → OK cycle | DUP cycle | MOVED cycle edition | HELD run | GONE
-- Two workers summarise the same stretch: the first record moves the cycle, the other one finds MOVED and throws its
--   summary away. The same call twice (lost reply): the record is there, DUP.
-- A turn is committed while the summary is made: it only adds behind it, the record holds for what was there before.
-- Messages are popped or the log is cleared meanwhile: the edition moved, MOVED. A run that waits for an approval holds
--   the thread: HELD, since its messages are not in the log yet and refer to what stands before them.
-- The process dies before this call: nothing is there, the check after the next turn does it again.
local h = redis.call('HMGET', KEYS[1], 'edition', 'held_by')
if not h[1] then return {'GONE'} end
local c = redis.call('HMGET', KEYS[3], 'cycle', 'upto', 'summary')
local cycle = tonumber(c[1] or '0')
if cycle == tonumber(ARGV[2]) + 1 and c[2] == ARGV[4] and c[3] == ARGV[6] then return {'DUP', cycle} end
if cycle ~= tonumber(ARGV[2]) or h[1] ~= ARGV[3] then return {'MOVED', cycle, h[1]} end
if h[2] and h[2] ~= '' then return {'HELD', h[2]} end
local last = redis.call('LINDEX', KEYS[2], tonumber(ARGV[5]) - 1)
if not last or string.match(last, '^(%d+) ') ~= ARGV[4] then return {'MOVED', cycle, h[1]} end
redis.call('HSET', KEYS[3], 'version', 'cycle ' .. cycle + 1 .. ' ' .. ARGV[3], 'cycle', cycle + 1, 'upto', ARGV[4],
  'from', ARGV[5], 'summary', ARGV[6])
follow(KEYS[1], {KEYS[3]})
redis.call('XADD', KEYS[4], 'MAXLEN', '~', 10000, '*', 'type', 'compaction', 'thread', ARGV[1], 'status', 'recorded',
  'cycle', cycle + 1, 'upto', ARGV[4], 'before', ARGV[7], 'after', ARGV[8], 'reason', ARGV[9])
return {'OK', cycle + 1}
