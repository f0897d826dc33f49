-- include clock life
-- Ask for a session to be closed: a sleep-time host leaves its summary in the archive, in its own time.
-- KEYS 1 head 2 pass 3 closing 4 wake   ARGV 1 thread
-- → OK | CLOSED: all that was said is closed already | NONE: there is no such session
-- Asked while another closing is at work: NX leaves that one's lease alone, and `close_upto` tells it, when it is done,
-- whether there is more to close than it has read.
local h = redis.call('HMGET', KEYS[1], 'seq', 'edition')
local seq = h[1]
if not seq then return {'NONE'} end
local p = redis.call('HMGET', KEYS[2], 'closed', 'closed_edition')
if p[1] == seq and p[2] == h[2] then return {'CLOSED'} end
redis.call('HSET', KEYS[2], 'close_upto', seq)
follow(KEYS[1], {KEYS[2]})
redis.call('ZADD', KEYS[3], 'NX', now_ms(), ARGV[1])
redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'thread', ARGV[1])
return {'OK'}
