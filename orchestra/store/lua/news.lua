-- What has been added to logs that the caller has read before. Only reads.
-- KEYS logs   ARGV 1 most entries to give, then for each log: entries known, sequence number of the last of them
-- → OK, then for each: {index of the first entry given, entries there are, {entry…}}; index 0: what was known is void
-- Sequence numbers are never used again and a log changes only at its end (or as a whole), so when the last known
-- entry is in its place, so are all before it.
local left, out = tonumber(ARGV[1]), {'OK'}
for i = 1, #KEYS do
  local first, total = tonumber(ARGV[2 * i]), redis.call('LLEN', KEYS[i])
  if first > 0 then
    local tail = redis.call('LINDEX', KEYS[i], first - 1)
    if not tail or (string.match(tail, '^(%d+) ') or '') ~= ARGV[2 * i + 1] then first = 0 end
  end
  local entries = {}
  if left > 0 and first < total then
    entries = redis.call('LRANGE', KEYS[i], first, first + left - 1)
    left = left - #entries
  end
  out[#out + 1] = {first, total, entries}
end
return out
