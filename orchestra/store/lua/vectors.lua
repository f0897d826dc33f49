-- Bring one owner's vector set up to date from the change feed; what is read there is found by VSIM.
-- KEYS 1 embeddings 2 shelf 3 state 4 vector set 5… passages
-- ARGV 1 edition 2 born ('' = whichever is there) 3 last ('' = more follows), then for each passage: id version tags
--   attributes vector
-- → OK born | OTHER edition | MOVED
-- Dies before the last piece: `last` stays, and the next search goes through the same changes again; what is there with
-- the same attributes is left alone. Two at once: a passage is added only if it is as the caller saw it, so a late one
-- puts nothing old over something new; what moved meanwhile is told by a later change, which others wait for.
-- Given another model: the edition moved, and a process with the former one gets OTHER. The first with the new one
-- empties the set. Emptied or deleted while a caller adds piece by piece: `born` tells, MOVED, and it begins again,
-- else it would call complete what lacks its first pieces.
-- No shelf: the archive was deleted meanwhile, and nothing may be left of it.
local edition = redis.call('HGET', KEYS[1], 'edition') or ''
if edition ~= ARGV[1] then return {'OTHER', edition} end
local state = redis.call('HMGET', KEYS[3], 'edition', 'born', 'last')
local born = state[2]
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('UNLINK', KEYS[3], KEYS[4])
  return ARGV[2] == '' and {'OK', ''} or {'MOVED'}
end
if state[1] ~= edition then
  if ARGV[2] ~= '' then return {'MOVED'} end
  local t = redis.call('TIME')
  born = t[1] .. '.' .. t[2]
  redis.call('UNLINK', KEYS[4])
  redis.call('HSET', KEYS[3], 'edition', edition, 'born', born, 'last', -1)
  state[3] = '-1'
elseif ARGV[2] ~= '' and ARGV[2] ~= born then
  return {'MOVED'}
end
for i = 5, #KEYS do
  local a = 4 + (i - 5) * 5
  local now = redis.call('HMGET', KEYS[i], 'version', 'tags')
  if now[1] == ARGV[a + 1] and now[2] == ARGV[a + 2]
    and redis.call('VGETATTR', KEYS[4], ARGV[a]) ~= ARGV[a + 3] then
    redis.call('VADD', KEYS[4], 'FP32', ARGV[a + 4], ARGV[a], 'Q8', 'SETATTR', ARGV[a + 3])
  end
end
if ARGV[3] ~= '' and tonumber(ARGV[3]) > tonumber(state[3]) then redis.call('HSET', KEYS[3], 'last', ARGV[3]) end
return {'OK', born}
