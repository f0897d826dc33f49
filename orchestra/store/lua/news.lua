-- What has been added to logs that the caller has read before. Only reads.
-- KEYS (head, log)…   ARGV 1 most entries to give 2 user ('' = anybody's), then for each log: entries known, sequence
--   number of the last of them, birth of the thread that they are of
-- → OK, then for each: {index of the first entry given, entries there are, {entry…}, birth}; index 0: what was known is void
-- Sequence numbers are never used again while a thread lives and a log changes only at its end (or as a whole), so when
-- the last known entry is in its place, so are all before it. A session that has ended and is there again under its id
-- counts from one again: its birth tells it from the former one.
-- Somebody else's now: a session of this user ended, and another user has taken its id. Nothing of it is given, and what
-- was known is void. Checked here and not before: between a check and the reading it might change hands.
local left, out = tonumber(ARGV[1]), {'OK'}
for i = 1, #KEYS / 2 do
  local head, log, a = KEYS[2 * i - 1], KEYS[2 * i], 3 * i
  local h = redis.call('HMGET', head, 'user', 'born')
  local born = h[2] or ''
  if ARGV[2] ~= '' and h[1] ~= ARGV[2] then
    out[#out + 1] = {0, 0, {}, born}
  else
    local first, total = tonumber(ARGV[a]), redis.call('LLEN', log)
    if first > 0 then
      local tail = born == ARGV[a + 2] and redis.call('LINDEX', log, first - 1)
      if not tail or (string.match(tail, '^(%d+) ') or '') ~= ARGV[a + 1] then first = 0 end
    end
    local entries = {}
    if left > 0 and first < total then
      entries = redis.call('LRANGE', log, first, first + left - 1)
      left = left - #entries
    end
    out[#out + 1] = {first, total, entries, born}
  end
end
return out
