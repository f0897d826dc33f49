-- include clock session
-- Replace the whole history. KEYS and ARGV 1, 2: see _session.lua; ARGV 3… items
-- → OK | DUP
--
-- A reader sees the old history or the new one. A process that dies before this call leaves the old one.
if answered(ARGV[1]) then return {'DUP'} end
local now = now_ms()
redis.call('DEL', KEYS[1])
push(3)
touch(ARGV[1], ARGV[2], now, true)
remember(ARGV[1], '', now)
return {'OK'}
