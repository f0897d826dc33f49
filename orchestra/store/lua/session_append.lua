-- include clock session
-- Append a batch to a session. KEYS and ARGV 1, 2: see _session.lua; ARGV 3… items
-- → OK | DUP
--
-- One step, so batches of concurrent writers stand whole and behind each other, with one command each. The same call
-- twice (a retry after a lost answer, or after a cancellation): its id is known, DUP.
local now = now_ms()
if claim(now) then return {'DUP'} end
push(3)
touch(now, false)
return {'OK'}
