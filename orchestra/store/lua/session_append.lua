-- include clock session
-- Append a batch to a session. KEYS and ARGV 1, 2: see _session.lua; ARGV 3… items
-- → OK | DUP
--
-- One step, so batches of concurrent writers stand whole and behind each other, with one command each. The same call
-- twice (a retry after a lost answer, or after a cancellation): its id is known, DUP.
if answered(ARGV[1]) then return {'DUP'} end
local now = now_ms()
push(3)
touch(ARGV[1], ARGV[2], now, false)
remember(ARGV[1], '', now)
return {'OK'}
