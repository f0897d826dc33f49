-- include clock left life
-- A new thread that begins as another one was after a turn.
-- KEYS 1 head 2 log 3 turns 4 new head 5 new log 6 new turns 7 new state 8 session 9 threads 10 memo 11 token
--      12 context 13 offload 14 new context 15 new offload 16 threads of the user whom the caller saw
-- ARGV 1 new thread 2 edition and 3 seq of the source that the caller saw 4 entries to keep 5 turns to keep 6 turn 7 seq
--      8 calls 9 life of the memo, seconds 10 user whom the caller saw ('' = none), then (state key, JSON)…
-- → OK | DUP | MOVED | EXISTS | LEFT: one of the new id has ended and left its blocks, which are forgotten first
-- The same fork twice (lost reply): the memo tells. A turn that was committed in between: MOVED, the caller looks again.
-- The logs are copied by the server, whole, and trimmed: no loop over what may be long.
-- Numbers go on behind those of the source, not behind the cut: what was decided about a message that is not copied (its
-- result is shortened in prompts, say) is not decided about a new one with its number.
if redis.call('EXISTS', KEYS[10]) == 1 then return {'DUP'} end
local h = redis.call('HMGET', KEYS[1], 'edition', 'seq', 'user')
if h[1] ~= ARGV[2] or h[2] ~= ARGV[3] or (h[3] or '') ~= ARGV[10] then return {'MOVED'} end
if redis.call('EXISTS', KEYS[4]) == 1 then return {'EXISTS'} end
if left(KEYS[4], KEYS[8], ARGV[1]) then return {'LEFT'} end
local now = now_ms()
redis.call('COPY', KEYS[2], KEYS[5], 'REPLACE')
redis.call('COPY', KEYS[3], KEYS[6], 'REPLACE')
if ARGV[4] == '0' then redis.call('DEL', KEYS[5]) else redis.call('LTRIM', KEYS[5], 0, ARGV[4] - 1) end
if ARGV[5] == '0' then redis.call('DEL', KEYS[6]) else redis.call('LTRIM', KEYS[6], 0, ARGV[5] - 1) end
redis.call('DEL', KEYS[7])
redis.call('COPY', KEYS[13], KEYS[15], 'REPLACE')
-- A summary that tells of what is not copied is no part of the new session.
if tonumber(redis.call('HGET', KEYS[12], 'upto') or '0') <= tonumber(ARGV[7]) then
  redis.call('COPY', KEYS[12], KEYS[14], 'REPLACE')
else
  redis.call('DEL', KEYS[14])
end
for i = 11, #ARGV, 2 do redis.call('HSET', KEYS[7], ARGV[i], ARGV[i + 1]) end
-- The new session's own blocks are empty, so its first pass reads the copied messages too.
redis.call('HSET', KEYS[4], 'edition', redis.call('INCR', KEYS[11]), 'born', redis.call('INCR', KEYS[11]), 'seq', h[2], 'turn', ARGV[6], 'calls', ARGV[8], 'watermark', 0,
  'watermark_turn', 0, 'due_turn', 0, 'created_at', now, 'updated_at', now, 'user', ARGV[10])
if ARGV[10] ~= '' then redis.call('SADD', KEYS[16], ARGV[1]) end
-- The copies have brought the end of theirs along; the new session ends with the one that it began as.
local ends = redis.call('PEXPIRETIME', KEYS[1])
if ends > 0 then redis.call('PEXPIREAT', KEYS[4], ends) end
follow(KEYS[4], {KEYS[5], KEYS[6], KEYS[7], KEYS[14], KEYS[15]})
redis.call('SADD', KEYS[8], string.match(ARGV[1], '^([^|]*)|'))
redis.call('ZADD', KEYS[9], now, ARGV[1])
redis.call('SET', KEYS[10], '1', 'EX', ARGV[9])
return {'OK'}
