-- include clock session
-- Delete a session and everything derived from it. KEYS and ARGV: see _session.lua
-- → OK | DUP
--
-- The remembered answers go too, since they hold popped items. An append whose answer was lost and that comes again
-- after the clear is then applied: it had not been acknowledged, so it may count as the later of the two. Only this
-- call's own id stays for some minutes, so that its retry does not delete what was appended after it.
local now = now_ms()
if claim(now) then return {'DUP'} end
redis.call('DEL', unpack(KEYS))
claim(now)
return {'OK'}
