-- include clock
-- Ask for a pass of a thread now (a compaction is about to happen).
-- KEYS 1 head 2 due 3 wake   ARGV 1 thread
-- → OK | NONE: nothing was completed since the last pass
-- Asked twice, or while a pass waits or is at work: NX, they are one. Asked while a pass is at work that claimed before
-- the last turn: `due_turn` tells it, when it is published, that there is more to do.
local h = redis.call('HMGET', KEYS[1], 'turn', 'watermark_turn')
if not h[1] or tonumber(h[1]) <= tonumber(h[2] or '0') then return {'NONE'} end
redis.call('ZADD', KEYS[2], 'NX', now_ms(), ARGV[1])
redis.call('HSET', KEYS[1], 'due_turn', h[1])
redis.call('XADD', KEYS[3], 'MAXLEN', 1, '*', 'thread', ARGV[1])
return {'OK'}
