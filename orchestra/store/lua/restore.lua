-- include clock life record
-- Bring a thread back to a snapshot: its log, turns, counters and state, and the blocks that the caller names.
--
-- KEYS 1 head 2 log 3 turns 4 state 5 due 6 pass 7 passes 8 retracted 9 memo 10 session 11 threads 12 user threads
--      13 token 14 hosts 15 events 16 wake 17 blocks (all ids) 18 snapshot 19 its log 20 its turns 21 its state
--      22 its context 23 its offload 24 context 25 offload, then (block, history, copy)…
-- ARGV 1 thread 2 life of the memo, seconds 3 time to live of the session, ms ('' = for ever) 4 history bound 5 author
--      6 manifest of the workspace to bring back ('' = none) 7 '1' when no block is brought back, then (block id, made
--      anew when it is gone)…
-- → OK report | DUP report | GONE | USER | HELD run | BUSY run | LIMIT label limit size
--
-- Interleavings:
--   the same restore twice (lost reply): the memo answers, so what was said since the first one is not taken away;
--   a run works on the thread, its host is alive → BUSY: its turn answers what would not be in the log any more;
--   its host is dead → the lease is taken from it, so a host that was only paused is FENCED; the run itself, which its
--     caller or the orphan watch sends again, begins anew on the restored log, as any run after this moment does;
--   a run that begins after this: its cached log has an old edition, so it loads the restored one;
--   a pass is at work → its lease is taken, so it publishes nothing of a log that is gone: FENCED;
--   anything that is in the way is found before the first write: a failed restore changes nothing;
--   the process dies after this and before the files are swapped: `workspace` in the head tells the next turn to do it.
-- Never back: token, edition, seq (what points at a message that is gone points at no other one), block versions.
local memo = redis.call('GET', KEYS[9])
if memo then return {'DUP', memo} end
local s = redis.call('HMGET', KEYS[18], 'seq', 'turn', 'calls', 'watermark', 'watermark_turn', 'due_turn', 'user')
if not s[1] then return {'GONE'} end
local head, now = KEYS[1], now_ms()
local h = redis.call('HMGET', head, 'held_by', 'run', 'host', 'seq', 'watermark', 'watermark_turn', 'user')
if h[1] and h[1] ~= '' then return {'HELD', h[1]} end
-- The session was deleted and made again by somebody else: one user's words are none of another one's.
local user = h[7] and h[7] ~= '' and h[7] or s[7]
if s[7] ~= '' and user ~= s[7] then return {'USER'} end
local running = h[2] and h[2] ~= ''
if running then
  local alive = redis.call('ZSCORE', KEYS[14], h[3])
  if alive and tonumber(alive) > now then return {'BUSY', h[2]} end
end
local changes, missing = {}, {}
for i = 26, #KEYS, 3 do
  local a = 8 + (i - 26) / 3 * 2
  local was = redis.call('HMGET', KEYS[i + 2], 'value', 'chars', 'label', 'version')
  local is = redis.call('HMGET', KEYS[i], 'value', 'chars', 'limit', 'version')
  if not is[4] then
    if ARGV[a + 1] == '1' then changes[#changes + 1] = {i, a, was, nil} else missing[#missing + 1] = was[3] end
  elseif is[1] ~= was[1] then
    -- As in an edit: what is over its limit from elsewhere may become shorter.
    if tonumber(was[2]) > tonumber(is[3]) and tonumber(was[2]) > tonumber(is[2]) then return {'LIMIT', was[3], is[3], was[2]} end
    changes[#changes + 1] = {i, a, was, is}
  end
end

-- Both logs are paths from one root, since an entry is only ever added at the end and its number is never used again:
-- so they agree up to some place and nowhere behind it.
local log, copy = KEYS[2], KEYS[19]
local have, want = redis.call('LLEN', log), redis.call('LLEN', copy)
local common, upper = 0, math.min(have, want)
while common < upper do
  local middle = math.floor((common + upper + 1) / 2)
  if redis.call('LINDEX', log, middle - 1) == redis.call('LINDEX', copy, middle - 1) then common = middle else upper = middle - 1 end
end
local function number(entry) return tonumber(string.match(entry, '^(%d+) ') or '0') end
local back, retracted, seen = {}, {}, tonumber(h[5] or '0')
for _, entry in ipairs(redis.call('LRANGE', copy, common, -1)) do back[number(entry)] = true end
for _, seq in ipairs(redis.call('LRANGE', KEYS[8], 0, -1)) do
  if not back[tonumber(seq)] then retracted[#retracted + 1] = seq end
end
-- What a pass has seen and is not said any more is told to the next one, as after a pop.
for _, entry in ipairs(redis.call('LRANGE', log, common, -1)) do
  if number(entry) > 0 and number(entry) <= seen then retracted[#retracted + 1] = number(entry) end
end
local keys, told = {}, {}
for _, name in ipairs(redis.call('HKEYS', KEYS[4])) do keys[name] = true end
for _, name in ipairs(redis.call('HKEYS', KEYS[21])) do keys[name] = true end
for name in pairs(keys) do
  if redis.call('HGET', KEYS[4], name) ~= redis.call('HGET', KEYS[21], name) then told[#told + 1] = name end
end
table.sort(told)
-- The next pass begins where the one of then would have: what the blocks of then had not learned yet is read (again).
-- Blocks that stay as they are have learned it, unless the log was cleared meanwhile.
local mark, mark_turn = tonumber(s[4]), s[5]
if ARGV[7] == '1' and common > 0 and want > 0 and seen > mark then
  local last = number(redis.call('LINDEX', copy, -1))
  if seen >= last then mark, mark_turn = math.max(mark, last), s[2] else mark, mark_turn = seen, h[6] end
end

-- Everything has been looked at; from here on it is written.
for i = 0, 2 do
  redis.call('DEL', KEYS[2 + i])
  redis.call('COPY', KEYS[19 + i], KEYS[2 + i])
  redis.call('PERSIST', KEYS[2 + i])
end
-- What was put away since then stays: a result that a reader still holds a reference of is not taken from it.
redis.call('DEL', KEYS[24])
redis.call('COPY', KEYS[22], KEYS[24])
redis.call('PERSIST', KEYS[24])
if redis.call('EXISTS', KEYS[25]) == 0 then
  redis.call('COPY', KEYS[23], KEYS[25])
  redis.call('PERSIST', KEYS[25])
end
redis.call('DEL', KEYS[8])
for i = math.max(1, #retracted - 999), #retracted do redis.call('RPUSH', KEYS[8], retracted[i]) end
if running then redis.call('HSET', head, 'token', redis.call('INCR', KEYS[13]), 'host', '', 'run', '') end
if not h[4] then redis.call('HSET', head, 'created_at', now, 'born', redis.call('INCR', KEYS[13])) end
redis.call('HSET', head, 'edition', redis.call('INCR', KEYS[13]), 'seq', math.max(tonumber(h[4] or '0'), tonumber(s[1])),
  'turn', s[2], 'calls', s[3], 'watermark', mark, 'watermark_turn', mark_turn, 'due_turn', s[6], 'updated_at', now,
  'user', user)
if ARGV[6] ~= '' then redis.call('HSET', head, 'workspace', ARGV[6]) end
redis.call('SADD', KEYS[10], string.match(ARGV[1], '^([^|]*)|'))
redis.call('ZADD', KEYS[11], now, ARGV[1])
if s[7] ~= '' then redis.call('SADD', KEYS[12], ARGV[1]) end
if redis.call('EXISTS', KEYS[6]) == 1 then redis.call('HSET', KEYS[6], 'token', 0, 'claim', '', 'tries', 0, 'error', '') end
if tonumber(s[6]) > tonumber(mark_turn) then
  redis.call('ZADD', KEYS[5], now, ARGV[1])
  redis.call('XADD', KEYS[16], 'MAXLEN', 1, '*', 'thread', ARGV[1])
else
  redis.call('ZREM', KEYS[5], ARGV[1])
end
live({head, KEYS[2], KEYS[3], KEYS[4], KEYS[6], KEYS[7], KEYS[8], KEYS[24], KEYS[25]}, ARGV[3], now)

local blocks = {}
for _, change in ipairs(changes) do
  local block, a, was, is = KEYS[change[1]], change[2], change[3], change[4]
  local version = is and tonumber(is[4]) + 1 or 1
  if is then
    redis.call('HSET', block, 'value', was[1], 'chars', was[2], 'version', version, 'updated_at', now)
  else
    redis.call('COPY', KEYS[change[1] + 2], block)
    redis.call('PERSIST', block)
    redis.call('HSET', block, 'version', version, 'born', redis.call('INCR', KEYS[13]), 'updated_at', now)
    redis.call('SADD', KEYS[17], ARGV[a])
  end
  record(KEYS[change[1] + 1], ARGV[4], version, 'restore', ARGV[5], '', '', '', was[1], now)
  redis.call('XADD', KEYS[15], 'MAXLEN', '~', 10000, '*', 'type', 'block', 'block', ARGV[a], 'label', was[3],
    'version', version, 'op', 'restore', 'author', ARGV[5], 'run', '')
  blocks[#blocks + 1] = {ARGV[a], was[3], is and tonumber(is[4]) or 0, version}
end
local report = cjson.encode({removed = have - common, returned = want - common, turn = tonumber(s[2]), state = told,
  blocks = blocks, missing = missing})
redis.call('SET', KEYS[9], report, 'EX', ARGV[2])
return {'OK', report}
