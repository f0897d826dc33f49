-- include clock left life shelve
-- Change a log from outside a turn: add | pop | clear. The edition moves, so caches and a running turn notice.
-- KEYS 1 head 2 log 3 turns 4 state 5 due 6 pass 7 memo 8 session 9 threads 10 retracted 11 token 12 context 13 offload
--      for clear: 14 passage 15 shelf 16 changes 17 vector set of the summary that was left when it was closed
-- ARGV 1 operation 2 thread 3 life of the memo, seconds, then for add: (tokens, message)…, for clear: 4 id of that summary ('' = none)
-- → OK … | DUP … | HELD run | MOVED: it has another summary now
--   | LEFT: one of this id has ended and left its blocks, which are forgotten first
-- The same call twice: the memo answers with the first answer, so one pop never takes two messages.
-- A clear while the session is being closed: the closing finds its claim gone, FENCED. One that was published after the
-- caller had looked for the summary: MOVED, it looks again.
-- A summary that tells of a popped message goes with it: what is left of its messages is shown again.
-- Sequence numbers are never used again, so what points at a popped message points at nothing else.
local memo = redis.call('GET', KEYS[7])
if memo then return {'DUP', memo} end
local head = KEYS[1]
local h = redis.call('HMGET', head, 'held_by', 'edition', 'seq', 'turn', 'watermark', 'due_turn')
if ARGV[1] ~= 'add' and h[1] and h[1] ~= '' then return {'HELD', h[1]} end
local now, answer = now_ms(), ''
if not h[2] then
  if ARGV[1] ~= 'add' then return {'OK', ''} end
  if left(head, KEYS[8], ARGV[2]) then return {'LEFT'} end
  redis.call('HSET', head, 'edition', 1, 'born', redis.call('INCR', KEYS[11]), 'seq', 0, 'turn', 0, 'calls', 0,
    'watermark', 0, 'watermark_turn', 0, 'due_turn', 0, 'created_at', now)
  redis.call('SADD', KEYS[8], string.match(ARGV[2], '^([^|]*)|'))
  h = {'', '1', '0', '0', '0', '0'}
end
local seq, turn = tonumber(h[3]), tonumber(h[4])
if ARGV[1] == 'add' then
  for i = 4, #ARGV, 2 do
    seq = seq + 1
    redis.call('RPUSH', KEYS[2], seq .. ' ' .. turn .. ' ' .. ARGV[i] .. ' ' .. ARGV[i + 1])
    redis.call('HINCRBY', head, 'bytes', #ARGV[i + 1])
  end
elseif ARGV[1] == 'pop' then
  local entry = redis.call('RPOP', KEYS[2])
  if not entry then return {'OK', ''} end
  answer = entry
  local popped = tonumber(string.match(entry, '^(%d+) ') or '0')
  local last = redis.call('LINDEX', KEYS[3], -1)
  if last then
    local first, kind = string.match(last, '^%d+ (%d+) %d+ (%a+) ')
    -- A turn that has lost its first message is no turn any more.
    if popped <= tonumber(first) then
      redis.call('RPOP', KEYS[3])
      if kind == 'done' then turn = turn - 1 end
    end
  end
  local newest = redis.call('LINDEX', KEYS[2], -1)
  local upto = newest and tonumber(string.match(newest, '^(%d+) ') or '0') or 0
  if tonumber(h[5]) > upto then
    redis.call('HSET', head, 'watermark', upto, 'watermark_turn', turn)
    redis.call('RPUSH', KEYS[10], popped)
    redis.call('LTRIM', KEYS[10], -1000, -1)
  end
  if tonumber(redis.call('HGET', KEYS[12], 'upto') or '0') > upto then
    redis.call('HDEL', KEYS[12], 'summary', 'upto', 'from')
    redis.call('HSET', KEYS[12], 'version', 'without ' .. popped)
  end
else
  if (redis.call('HGET', KEYS[6], 'closed_passage') or '') ~= ARGV[4] then return {'MOVED'} end
  if ARGV[4] ~= '' then take_off({shelf = KEYS[15], stream = KEYS[16], vectors = KEYS[17]}, KEYS[14], ARGV[4]) end
  redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[6], KEYS[10], KEYS[12], KEYS[13])
  redis.call('ZREM', KEYS[5], ARGV[2])
  redis.call('HSET', head, 'watermark', seq, 'watermark_turn', 0, 'calls', 0, 'bytes', 0)
  turn = 0
end
if turn < tonumber(h[6]) and ARGV[1] ~= 'add' then
  redis.call('HSET', head, 'due_turn', turn)
  -- The pass that the popped turn asked for is not wanted any more, unless a worker already has it.
  local claim = redis.call('HGET', KEYS[6], 'claim')
  if not claim or claim == '' then
    redis.call('ZREM', KEYS[5], ARGV[2])
  end
end
redis.call('HSET', head, 'edition', redis.call('INCR', KEYS[11]), 'seq', seq, 'turn', turn, 'updated_at', now)
redis.call('ZADD', KEYS[9], now, ARGV[2])
follow(head, {KEYS[2], KEYS[3], KEYS[4], KEYS[10], KEYS[12], KEYS[13]})
redis.call('SET', KEYS[7], answer, 'EX', ARGV[3])
return {'OK', answer}
