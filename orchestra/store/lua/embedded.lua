-- Store vectors of passages. KEYS 1 embeddings 2… passages   ARGV 1 edition, then for each: version vector
-- → OK number that were stored | OTHER edition
-- The archive was given another model meanwhile: its edition moved, OTHER, nothing is written. A passage whose text
-- changed while its vector was made has another version and is skipped; so is one that was deleted.
local edition = redis.call('HGET', KEYS[1], 'edition') or ''
if edition ~= ARGV[1] then return {'OTHER', edition} end
local stored = 0
for i = 2, #KEYS do
  if redis.call('HGET', KEYS[i], 'version') == ARGV[2 * i - 2] then
    redis.call('HSET', KEYS[i], 'embedding', ARGV[2 * i - 1], 'embedded', edition)
    stored = stored + 1
  end
end
return {'OK', stored}
