-- include clock record shelve life due
-- Publish a pass: all its blocks by compare-and-set, together with the new watermark, whole or not at all.
--
-- KEYS 1 head 2 pass 3 due 4 events 5 passes 6 wake 7 retracted 8 spent today 9 log 10 sources, then (block, history)…,
--      then with passages: shelf, changes, archives, passage…
-- ARGV 1 thread 2 token 3 pass 4 edition 5 watermark it started from 6 upto seq 7 upto turn 8 report (JSON) 9 history bound
--      10 author 11 model calls 12 tokens 13 what makes a pass due 14 the adaptive interval from now on ('' = as it was)
--      15 what the next pass reads ('' = the dialogue, documents) 16 number of documents, then per document: name, what
--      was known of it, what is known from now on; then the number of blocks, then per block: id, expected version,
--      changed, value, chars, sources; then with passages: owner agent user, and per passage: id text tags source
-- → OK version… | DUP | FENCED | EDITED edition | MOVED (index, version, value)… | LIMIT index limit size | READONLY index
--
-- Interleavings: published, reply lost, published again → this pass is the last one: DUP.
-- A worker that slept past its lease while another one published the same stretch → its token is old: FENCED.
-- The primary edited a block meanwhile → MOVED, nothing written; the worker merges and comes again.
-- Messages were popped meanwhile, or the pass of another session has worked through the same document → EDITED,
-- nothing written; the pass starts again on what there is now.
-- The worker dies before this call → nothing is published, the lease ends, another worker does the stretch again.
local head, pass = KEYS[1], KEYS[2]
if redis.call('HGET', pass, 'last_pass') == ARGV[3] then return {'DUP'} end
if redis.call('HGET', pass, 'token') ~= ARGV[2] then return {'FENCED'} end
local h = redis.call('HMGET', head, 'edition', 'watermark', 'seq', 'due_turn', 'turn')
if h[1] ~= ARGV[4] or h[2] ~= ARGV[5] then return {'EDITED', h[1] or ''} end
local documents = tonumber(ARGV[16])
for i = 1, documents do
  local d = 14 + 3 * i
  if (redis.call('HGET', KEYS[10], ARGV[d]) or '') ~= ARGV[d + 1] then return {'EDITED', h[1]} end
end
local base = 17 + 3 * documents
local count = tonumber(ARGV[base])
local moved = {'MOVED'}
for i = 1, count do
  local a, b = base + (i - 1) * 6, redis.call('HMGET', KEYS[9 + 2 * i], 'version', 'value', 'limit', 'read_only', 'chars')
  if ARGV[a + 3] == '1' then
    if b[1] ~= ARGV[a + 2] then
      moved[#moved + 1] = i
      moved[#moved + 1] = b[1] or '0'
      moved[#moved + 1] = b[2] or ''
    elseif b[4] == '1' then
      return {'READONLY', i}
    -- As in an edit: what is over its limit from elsewhere may be shortened step by step.
    elseif tonumber(ARGV[a + 5]) > tonumber(b[3]) and tonumber(ARGV[a + 5]) > tonumber(b[5]) then
      return {'LIMIT', i, b[3], ARGV[a + 5]}
    end
  end
end
if #moved > 1 then return moved end

local now, out = now_ms(), {'OK'}
for i = 1, count do
  local a, block = base + (i - 1) * 6, KEYS[9 + 2 * i]
  local version = ARGV[a + 2]
  if ARGV[a + 3] == '1' then
    version = tostring(tonumber(version) + 1)
    redis.call('HSET', block, 'value', ARGV[a + 4], 'chars', ARGV[a + 5], 'version', version, 'updated_at', now)
    record(KEYS[10 + 2 * i], ARGV[9], version, 'pass', ARGV[10], '', ARGV[3], ARGV[a + 6], ARGV[a + 4], now)
    redis.call('XADD', KEYS[4], 'MAXLEN', '~', 10000, '*', 'type', 'block', 'block', ARGV[a + 1],
      'label', redis.call('HGET', block, 'label') or '', 'version', version, 'op', 'pass', 'author', ARGV[10], 'run', '')
  end
  out[#out + 1] = version
end
local shelf, o = 10 + 2 * count + 1, base + 6 * count
local keys = {shelf = KEYS[shelf], stream = KEYS[shelf + 1], archives = KEYS[shelf + 2]}
for i = shelf + 3, #KEYS do
  local a = o + 4 + (i - shelf - 3) * 4
  shelve(keys, KEYS[i], ARGV[o + 1], ARGV[o + 2], ARGV[o + 3], ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], now, now)
end
for i = 1, documents do redis.call('HSET', KEYS[10], ARGV[14 + 3 * i], ARGV[16 + 3 * i]) end
redis.call('HSET', head, 'watermark', ARGV[6], 'watermark_turn', ARGV[7])
redis.call('HSET', pass, 'last_pass', ARGV[3], 'tries', 0, 'error', '', 'claim', '', 'token', 0, 'next', ARGV[15])
if ARGV[14] ~= '' then redis.call('HSET', pass, 'interval', ARGV[14]) end
-- More to do at once when the stretch was cut short, when a turn that asked for a pass came meanwhile, when those that
-- came meanwhile are enough to ask for one, or when documents wait.
local turn = tonumber(h[5])
local asked = tonumber(h[4]) > tonumber(ARGV[7])
if not asked and due_by(ARGV[13], head, KEYS[9], pass, turn) then
  asked = true
  redis.call('HSET', head, 'due_turn', turn)
end
if asked or ARGV[15] ~= '' then
  redis.call('ZADD', KEYS[3], now, ARGV[1])
  redis.call('XADD', KEYS[6], 'MAXLEN', 1, '*', 'thread', ARGV[1])
else
  redis.call('ZREM', KEYS[3], ARGV[1])
end
-- Retractions are told once, to a pass that reads the dialogue: a pop since the claim would have moved the edition.
if documents == 0 then redis.call('DEL', KEYS[7]) end
redis.call('HINCRBY', pass, 'calls', ARGV[11])
redis.call('HINCRBY', pass, 'tokens', ARGV[12])
redis.call('INCRBY', KEYS[8], ARGV[12])
redis.call('EXPIRE', KEYS[8], 172800)
redis.call('RPUSH', KEYS[5], ARGV[8])
redis.call('LTRIM', KEYS[5], -500, -1)
follow(head, {KEYS[5]})
redis.call('XADD', KEYS[4], 'MAXLEN', '~', 10000, '*', 'type', 'pass', 'thread', ARGV[1], 'pass', ARGV[3], 'status', 'published',
  'turn', ARGV[7], 'report', ARGV[8])
return out
