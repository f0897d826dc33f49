-- include clock session
-- Take the newest entry of a session away. KEYS and ARGV: see _session.lua
-- → OK entry | DUP entry | EMPTY
--
-- Two at once: each gets another entry. The same call twice: the entry is remembered with the id and given again, so a
-- lost answer loses no item. Nothing there: nothing is written.
local known = answered(ARGV[1])
if known then return {'DUP', known} end
local entry = redis.call('RPOP', KEYS[1])
if not entry then return {'EMPTY'} end
local now = now_ms()
touch(ARGV[1], ARGV[2], now, true)
remember(ARGV[1], entry, now)
return {'OK', entry}
