-- Which model the namespace's vectors are of: the first one that comes, until it is replaced on purpose.
-- KEYS 1 embeddings   ARGV 1 model 2 dimension 3 1 to replace   → OK edition | OTHER model dimension
-- A replacement only counts up the edition: vectors of an older one are not used any more, so dying between this and
-- the making of new ones leaves passages that wait for their vector, never a mixture.
local e = redis.call('HMGET', KEYS[1], 'model', 'dimension', 'edition')
if e[1] and ARGV[3] ~= '1' then
  if e[1] ~= ARGV[1] or e[2] ~= ARGV[2] then return {'OTHER', e[1], e[2]} end
  return {'OK', e[3]}
end
redis.call('HSET', KEYS[1], 'model', ARGV[1], 'dimension', ARGV[2])
return {'OK', redis.call('HINCRBY', KEYS[1], 'edition', 1)}
