-- include clock session
-- Take the newest entry of a session away. KEYS and ARGV: see _session.lua
-- → OK entry | DUP entry | EMPTY
--
-- Two at once: each gets another entry. The same call twice: the entry is remembered with the id and given again, so a
-- lost answer loses no item. Nothing there: nothing is kept.
local now = now_ms()
local known = claim(now)
if known then return {'DUP', known} end
local entry = redis.call('RPOP', KEYS[1])
if not entry then
  forget(now)
  return {'EMPTY'}
end
touch(now, true)
remember(entry, now)
return {'OK', entry}
