-- include clock session
-- Replace the first n entries of a history that somebody has read, if they are still its first n.
-- KEYS and ARGV 1, 2: see _session.lua; ARGV 3 generation that was read 4 n 5… items
-- → OK | DUP | MOVED
--
-- An append while the replacement was being made: the generation is the same, the new entries stay behind it. A pop, a
-- clear or another replacement meanwhile: MOVED, and nothing is written.
local now = now_ms()
local known = claim(now)
if known then return {known == '' and 'DUP' or known} end
if redis.call('HGET', KEYS[2], 'generation') ~= ARGV[3] or redis.call('LLEN', KEYS[1]) < tonumber(ARGV[4]) then
  remember('MOVED', now)
  return {'MOVED'}
end
redis.call('LTRIM', KEYS[1], ARGV[4], -1)
for i = #ARGV, 5, -1 do redis.call('LPUSH', KEYS[1], ARGV[i]) end
touch(now, true)
return {'OK'}
