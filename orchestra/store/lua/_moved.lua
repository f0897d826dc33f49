-- The blocks KEYS[first..] whose stamp is not the one the caller knows: {key index from 1, all fields}. The stamp is
-- version@born: a block that was deleted and made again has its versions from 1 once more, but was born anew.
local function moved(first, known)
  local out = {}
  for i = first, #KEYS do
    local b = redis.call('HMGET', KEYS[i], 'version', 'born')
    if (b[1] or '') .. '@' .. (b[2] or '') ~= ARGV[known + i - first] then
      out[#out + 1] = {i - first + 1, redis.call('HGETALL', KEYS[i])}
    end
  end
  return out
end

local function missing(first)
  local out = {'MISSING'}
  for i = first, #KEYS do
    if redis.call('EXISTS', KEYS[i]) == 0 then out[#out + 1] = i - first + 1 end
  end
  if #out > 1 then return out end
end
