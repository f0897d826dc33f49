-- The blocks KEYS[first..] whose version is not the one the caller knows: {key index from 1, all fields}.
local function moved(first, known)
  local out = {}
  for i = first, #KEYS do
    if redis.call('HGET', KEYS[i], 'version') ~= ARGV[known + i - first] then
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
