-- include clock session
-- Replace the whole history. KEYS and ARGV 1, 2: see _session.lua; ARGV 3… items
-- → OK | DUP
--
-- A reader sees the old history or the new one. A process that dies before this call leaves the old one.
local now = now_ms()
if claim(now) then return {'DUP'} end
redis.call('DEL', KEYS[1])
push(3)
touch(now, true)
return {'OK'}
