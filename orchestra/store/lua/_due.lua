-- Whether a pass is due by a rule that looks at what waits: 'tokens 4000', 'adaptive 1 25'. False for all other rules.
-- What waits is counted from the last pass. A pass that was set aside stands for one (`asked`: edition seq turn) until
-- the log is edited, so that a broken model is not asked again after every turn.

-- The tokens of the entries after number `base`. What was counted is remembered with the edition, so a commit looks at
-- its own messages only, and whoever takes messages away has nothing to keep right here.
local function tokens_after(head, log, base, edition)
  local seq, sum = base, 0
  local e, b, s, t = string.match(redis.call('HGET', head, 'counted') or '', '^(%d+) (%d+) (%d+) (%d+)$')
  if e == edition and tonumber(b) == base then seq, sum = tonumber(s), tonumber(t) end
  local newest, last, done = seq, -1, false
  repeat
    local entries = redis.call('LRANGE', log, last - 31, last)
    for i = #entries, 1, -1 do
      local number, size = string.match(entries[i], '^(%d+) %d+ (%d+) ')
      if number and tonumber(number) <= seq then
        done = true
        break
      elseif number then
        newest, sum = math.max(newest, tonumber(number)), sum + tonumber(size)
      end
    end
    last = last - 32
  until done or #entries < 32
  redis.call('HSET', head, 'counted', string.format('%s %.0f %.0f %.0f', edition, base, newest, sum))
  return sum
end

local function due_by(rule, head, log, pass, turn)
  local kind, a, b = string.match(rule, '^(%a+) (%d+) ?(%d*)$')
  if kind ~= 'tokens' and kind ~= 'adaptive' then return false end
  local h = redis.call('HMGET', head, 'watermark', 'watermark_turn', 'edition', 'asked')
  local base, since = tonumber(h[1] or '0'), tonumber(h[2] or '0')
  local edition, seq, at = string.match(h[4] or '', '^(%d+) (%d+) (%d+)$')
  if edition == h[3] and tonumber(seq) > base then base, since = tonumber(seq), tonumber(at) end
  if turn <= since then return false end
  if kind == 'tokens' then return tokens_after(head, log, base, h[3]) >= tonumber(a) end
  local interval = tonumber(redis.call('HGET', pass, 'interval') or a)
  return turn - since >= math.max(tonumber(a), math.min(tonumber(b), interval))
end
