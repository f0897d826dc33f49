-- include clock life due
-- End a turn: messages, state, counters, the due queue and the end of the run, whole or not at all.
--
-- KEYS 1 head 2 log 3 state 4 turns 5 run 6 runs 7 due 8 events 9 threads 10 wake 11 pass
--      12 passes 13 retracted 14 closes 15 context 16 offload 17 children 18 idles
-- ARGV 1 run 2 token 3 edition 4 done|aborted|none 5 answer 6 usage 7 what makes a pass due 8 model calls 9 life of the answer, seconds
--      10 thread 11 run status 12 time to live of the session, ms ('' = for ever) 13 ms without a turn after which it is
--      closed ('' = never) 14 last call 15 what was pruned 16 pinned blocks (JSON; '' = as they are)
--      17 number of messages n; then n × (tokens, message); then the state's operations:
--      set key json | delete key | increment key number | swap key old new
-- → OK turn seq count due former-version | DUP answer | FENCED token | EDITED edition | CHANGED key value
--
-- The same call twice: the run has ended, DUP. A late owner: its token is old, FENCED. A developer's pop or clear while
-- the turn ran: the edition moved, EDITED, and the host commits again on the log as it now is (nothing is lost).
-- `swap` (agent.state.update) whose old value has moved: CHANGED, the host runs the function again.
-- When the process dies before this call the journal is there and the thread is as it was; after it, all is there.
local head, run = KEYS[1], KEYS[5]
local known = redis.call('HMGET', run, 'status', 'answer')
if known[1] == 'ended' then return {'DUP', known[2]} end
local h = redis.call('HMGET', head, 'token', 'edition', 'seq', 'turn', 'run', 'bytes')
-- The token stays after a run's end, until the next run. So when the answer is forgotten too, a host that slept that
-- long and comes again finds that its run does not hold the thread any more.
if h[1] ~= ARGV[2] or h[5] ~= ARGV[1] then return {'FENCED', h[1] or ''} end
if h[2] ~= ARGV[3] then return {'EDITED', h[2]} end

local at = 17 + 2 * tonumber(ARGV[17])
local ops = {}
while at < #ARGV do
  local kind, key = ARGV[at + 1], ARGV[at + 2]
  if kind == 'delete' then
    ops[#ops + 1] = {kind, key}
    at = at + 2
  elseif kind == 'swap' then
    local current = redis.call('HGET', KEYS[3], key) or ''
    if current ~= ARGV[at + 3] then return {'CHANGED', key, current} end
    ops[#ops + 1] = {'set', key, ARGV[at + 4]}
    at = at + 4
  else
    -- An increment of what is no number, or beyond 64 bits, would fail half-way through the writes below: refused here.
    if kind == 'increment' then
      local current = redis.call('HGET', KEYS[3], key)
      local sum = (tonumber(current or '0') or math.huge) + tonumber(ARGV[at + 3])
      if not (sum > -9e15 and sum < 9e15) then return {'CHANGED', key, current or ''} end
      if (current and not string.match(current, '^%-?%d+$')) or not string.match(ARGV[at + 3], '^%-?%d+$') then kind = 'float' end
    end
    ops[#ops + 1] = {kind, key, ARGV[at + 3]}
    at = at + 3
  end
end

-- Everything has been checked; from here on it is written.
local now = now_ms()
local before, seen = {}, {}
for _, op in ipairs(ops) do
  local kind, key = op[1], op[2]
  if not seen[key] then
    seen[key] = true
    before[#before + 1] = cjson.encode(key) .. ':[' .. (redis.call('HGET', KEYS[3], key) or '') .. ']'
  end
  if kind == 'set' then
    redis.call('HSET', KEYS[3], key, op[3])
  elseif kind == 'delete' then
    redis.call('HDEL', KEYS[3], key)
  elseif kind == 'float' then
    redis.call('HINCRBYFLOAT', KEYS[3], key, op[3])
  else
    redis.call('HINCRBY', KEYS[3], key, op[3])
  end
end
local seq, turn, n = tonumber(h[3]), tonumber(h[4]), tonumber(ARGV[17])
local first, due, bytes = seq + 1, 0, tonumber(h[6] or '0')
if ARGV[4] == 'done' then turn = turn + 1 end
for i = 1, n do
  seq = seq + 1
  local tokens, message = ARGV[16 + 2 * i], ARGV[17 + 2 * i]
  redis.call('RPUSH', KEYS[2], seq .. ' ' .. turn .. ' ' .. tokens .. ' ' .. message)
  bytes = bytes + #message
end
if ARGV[4] ~= 'none' then
  redis.call('RPUSH', KEYS[4], turn .. ' ' .. first .. ' ' .. n .. ' ' .. ARGV[4] .. ' {"run":' .. cjson.encode(ARGV[1]) ..
    ',"at":' .. string.format('%.0f', now) .. ',"usage":' .. ARGV[6] .. ',"before":{' .. table.concat(before, ',') .. '}}')
  redis.call('HINCRBY', head, 'calls', ARGV[8])
end
-- State that changed without a message: the length of the log does not tell, so the edition tells the caches.
if ARGV[4] == 'none' and #ops > 0 then redis.call('HINCRBY', head, 'edition', 1) end
redis.call('HSET', head, 'host', '', 'run', '', 'held_by', '', 'seq', seq, 'turn', turn, 'last_run', ARGV[1],
  'updated_at', now, 'bytes', bytes)
-- Every so many turns asks anew while a pass is at work; the other rules count from it, so publish.lua looks again.
local every = tonumber(string.match(ARGV[7], '^turns (%d+)$'))
local asks = ARGV[4] == 'done' and (every and turn % every == 0 or due_by(ARGV[7], head, KEYS[2], KEYS[11], turn))
if asks and (redis.call('ZADD', KEYS[7], 'NX', now, ARGV[10]) == 1 or every) then
  due = 1
  redis.call('HSET', head, 'due_turn', turn)
  redis.call('XADD', KEYS[10], 'MAXLEN', 1, '*', 'thread', ARGV[10])
end
-- Whatever is said puts off what waits for silence; only a completed turn gives it something to wait for.
local idle = string.match(ARGV[7], '^idle (%d+)$')
if idle and ARGV[4] == 'done' then
  redis.call('ZADD', KEYS[18], now + tonumber(idle), ARGV[10])
elseif idle and ARGV[4] == 'aborted' then
  redis.call('ZADD', KEYS[18], 'XX', now + tonumber(idle), ARGV[10])
end
-- A record's version is the run that wrote it last: hosts see by it whether theirs is the newest one.
-- Another host that has recorded a summary meanwhile is told by the former version.
local noted, former = {}, redis.call('HGET', KEYS[15], 'version') or ''
for i, field in ipairs({'call', 'pruned', 'pinned'}) do
  if ARGV[13 + i] ~= '' then
    noted[#noted + 1] = field
    noted[#noted + 1] = ARGV[13 + i]
  end
end
if #noted > 0 then redis.call('HSET', KEYS[15], 'version', ARGV[1], unpack(noted)) end
-- The thread of a child run is in no list.
if string.sub(ARGV[10], 1, 1) ~= '/' then redis.call('ZADD', KEYS[9], now, ARGV[10]) end
if ARGV[13] ~= '' then redis.call('ZADD', KEYS[14], now + tonumber(ARGV[13]), ARGV[10]) end
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('DEL', run)
redis.call('HSET', run, 'status', 'ended', 'outcome', ARGV[11], 'thread', ARGV[10], 'answer', ARGV[5], 'turn', turn)
redis.call('EXPIRE', run, ARGV[9])
local kept = {head, KEYS[2], KEYS[4], KEYS[11], KEYS[12], KEYS[13], KEYS[15], KEYS[16], KEYS[17]}
-- The state of a child run lasts as long as the session that it belongs to, however long its thread does.
if string.sub(ARGV[10], 1, 1) ~= '/' then kept[#kept + 1] = KEYS[3] end
live(kept, ARGV[12], now)
redis.call('XADD', KEYS[8], 'MAXLEN', '~', 10000, '*', 'type', 'turn', 'thread', ARGV[10], 'run', ARGV[1], 'turn', turn,
  'status', ARGV[11], 'due', due)
return {'OK', turn, seq, redis.call('LLEN', KEYS[2]), due, former}
