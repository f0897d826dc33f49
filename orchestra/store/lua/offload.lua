-- include life
-- Put a large tool result away, once: the reference comes from run and call.
-- KEYS 1 head 2 offload and 3 head of the session's own thread: what a child run puts away lives as long as the session,
--      and who gets its answer can read it   ARGV 1 token 2 reference 3 text
-- → OK text | FENCED token
-- The same call twice (lost reply, or a second host that starts a repeatable tool again): the first text stays, so the
-- preview that is journaled and what is read later are of one result. Dies before the journal has the preview: nobody
-- knows the reference, and it goes with the session.
local lease = redis.call('HMGET', KEYS[1], 'token', 'run')
if lease[1] ~= ARGV[1] or lease[2] == '' then return {'FENCED', lease[1] or ''} end
redis.call('HSETNX', KEYS[2], ARGV[2], ARGV[3])
follow(KEYS[3], {KEYS[2]})
return {'OK', redis.call('HGET', KEYS[2], ARGV[2])}
