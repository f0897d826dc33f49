-- What has changed on shelves that the caller holds in memory, and which model the vectors are of. Only reads.
-- KEYS 1 embeddings 2… changes   ARGV for each stream the last change that is known, -1 for none
-- → OK edition model dimension, then for each: {last change, 1 when it must be loaded anew, id…}
local e = redis.call('HMGET', KEYS[1], 'edition', 'model', 'dimension')
local out = {'OK', e[1] or '0', e[2] or '', e[3] or '0'}
for i = 2, #KEYS do
  local known = tonumber(ARGV[i - 1])
  local last = redis.call('XREVRANGE', KEYS[i], '+', '-', 'COUNT', 1)[1]
  local n = last and tonumber(string.match(last[1], '^%d+')) or 0
  local one = {n, 0}
  if known < 0 or known > n then
    one[2] = 1
  elseif known < n then
    local entries = redis.call('XRANGE', KEYS[i], string.format('%.0f', known + 1) .. '-0', '+', 'COUNT', 1000)
    -- The stream is cut at its old end: what lies between is not told any more.
    if tonumber(string.match(entries[1][1], '^%d+')) ~= known + 1 then
      one[2] = 1
    else
      for _, entry in ipairs(entries) do one[#one + 1] = entry[2][2] end
      one[1] = known + #entries
    end
  end
  out[#out + 1] = one
end
return out
