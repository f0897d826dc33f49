-- A pass's private copy of its blocks, taken at one moment. KEYS 1 pass, then (block, draft)…   ARGV 1 token 2 life, ms
-- → OK {fields}… | FENCED
-- A second try of a pass starts from the blocks as they are now: an old draft is overwritten.
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return {'FENCED'} end
local out = {'OK'}
for i = 2, #KEYS, 2 do
  redis.call('DEL', KEYS[i + 1])
  local fields = redis.call('HGETALL', KEYS[i])
  out[#out + 1] = fields
  if #fields > 0 then
    redis.call('HSET', KEYS[i + 1], unpack(fields))
    redis.call('PEXPIRE', KEYS[i + 1], ARGV[2])
  end
end
return out
