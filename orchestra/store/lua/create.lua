-- include clock record
-- Make a block once. KEYS 1 block 2 history 3 blocks (all ids) 4 token   ARGV 1 id 2 author 3 history bound, then (field value)…
-- → OK version | EXISTS version.  Two hosts that meet a user for the first time at once: one makes the block.
local there = redis.call('HGET', KEYS[1], 'version')
if there then return {'EXISTS', there} end
local now = now_ms()
redis.call('HSET', KEYS[1], 'version', 1, 'updated_at', now, 'born', redis.call('INCR', KEYS[4]), unpack(ARGV, 4))
redis.call('SADD', KEYS[3], ARGV[1])
record(KEYS[2], ARGV[3], 1, 'create', ARGV[2], '', '', '', redis.call('HGET', KEYS[1], 'value'), now)
return {'OK', 1}
