-- include clock life
-- Take a turn and all that came after it out of a thread: as it was before that turn, counters and state included.
-- KEYS 1 head 2 log 3 turns 4 state 5 due 6 pass 7 memo 8 threads 9 retracted 10 token 11 context
-- ARGV 1 thread 2 edition and 3 seq that the caller saw 4 entries to keep 5 turns to keep 6 turn 7 seq of the last entry
--      8 calls 9 life of the memo, seconds, then (state key, JSON)…: the state of then
-- → OK entries | DUP entries | MOVED | HELD run
-- The same rewind twice (lost reply): the memo answers, so what was said since the first one is not taken away. A turn
-- that was committed in between: MOVED, the caller looks again. A turn that is at work is committed on the log as it then
-- is (EDITED), as after a pop. Sequence numbers are never used again. What a pass has seen of it is told to the next one.
local memo = redis.call('GET', KEYS[7])
if memo then return {'DUP', memo} end
local head = KEYS[1]
local h = redis.call('HMGET', head, 'edition', 'seq', 'held_by', 'watermark', 'due_turn')
if h[3] and h[3] ~= '' then return {'HELD', h[3]} end
if h[1] ~= ARGV[2] or h[2] ~= ARGV[3] then return {'MOVED'} end
local now, keep, turn, last = now_ms(), tonumber(ARGV[4]), tonumber(ARGV[6]), tonumber(ARGV[7])
local gone = redis.call('LRANGE', KEYS[2], keep, -1)
local edition = redis.call('INCR', KEYS[10])
local answer = table.concat(gone, '\n')
if keep == 0 then redis.call('DEL', KEYS[2]) else redis.call('LTRIM', KEYS[2], 0, keep - 1) end
if ARGV[5] == '0' then redis.call('DEL', KEYS[3]) else redis.call('LTRIM', KEYS[3], 0, ARGV[5] - 1) end
redis.call('DEL', KEYS[4])
for i = 10, #ARGV, 2 do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) end
local watermark = tonumber(h[4])
if watermark > last then
  for _, entry in ipairs(gone) do
    local seq = tonumber(string.match(entry, '^(%d+) ') or '0')
    if seq > 0 and seq <= watermark then redis.call('RPUSH', KEYS[9], seq) end
  end
  redis.call('LTRIM', KEYS[9], -1000, -1)
  redis.call('HSET', head, 'watermark', last, 'watermark_turn', turn)
end
if tonumber(redis.call('HGET', KEYS[11], 'upto') or '0') > last then
  redis.call('HDEL', KEYS[11], 'summary', 'upto', 'from')
  -- A version never comes again, also when the next rewind leads to this very place: hosts see by it what they lack.
  redis.call('HSET', KEYS[11], 'version', 'rewound ' .. edition)
end
if turn < tonumber(h[5]) then
  redis.call('HSET', head, 'due_turn', turn)
  -- The pass that a turn of these asked for is not wanted any more, unless a worker already has it.
  local claim = redis.call('HGET', KEYS[6], 'claim')
  if not claim or claim == '' then redis.call('ZREM', KEYS[5], ARGV[1]) end
end
redis.call('HSET', head, 'edition', edition, 'turn', turn, 'calls', ARGV[8], 'updated_at', now)
redis.call('ZADD', KEYS[8], now, ARGV[1])
follow(head, {KEYS[2], KEYS[3], KEYS[4], KEYS[9], KEYS[11]})
redis.call('SET', KEYS[7], answer, 'EX', ARGV[9])
return {'OK', answer}
