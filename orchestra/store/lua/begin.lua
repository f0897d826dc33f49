-- include clock fresh left moved life
-- Take the lease of a thread, record run and input, and load what the turn needs: one consistent moment.
--
-- KEYS 1 head 2 log 3 state 4 run 5 runs 6 hosts 7 token 8 def 9 attach 10 session 11 threads 12 user threads
--      13 turns 14 pass 15 passes 16 retracted 17 context 18 offload 19 children 20… blocks
-- ARGV 1 run 2 host 3 definition hash 4 attach version 5 cached edition 6 cached entries 7 tail 8 input
--      9 needs invocation_state 10 thread 11 user 12 known version of the context's records
--      13 parent run ('' = none) 14 how long a child's thread is kept from now on, ms ('' = for ever)
--      15 thread whose state (3) a child has that does not last as long as its session ('' = its own)
--      16 '1' to end a run that waits for an answer 17… known version of each block
-- The children (19) are those of the session's own thread: its deletion takes them along. No list shows them. The state
-- of a child lasts as long as that session, however long the thread does, so its life is not this script's business.
--
-- → OK token resumed head-fields first-index entries state journal blocks context-or-nothing always
--   | STALE … | MISSING i… | BUSY run host | WAIT answer | HELD run | DUP answer | OTHER thread | USER | LEFT
--
-- Races closed here:
--   the same call twice (lost reply): same run and same host keep their token, nothing is taken anew;
--   a run that has ended: DUP with its remembered answer; one that waits for somebody's answer: WAIT with what it asks,
--   whoever sends it again. It holds its thread (`held_by`) until a host takes it up with the answers;
--   two hosts at once: the second one finds a live holder and gets BUSY. A holder is alive while its heartbeat in
--   `hosts` has not expired on the server's clock. A paused holder that wakes up late has an old token: FENCED;
--   a compaction on another host while this one comes: the record and the entries behind it are of one moment;
--   a session of this id has ended by its time to live, and its blocks are still there: LEFT, before anything is read.
--   They are forgotten first, else another user who takes the id would find them in the prompt;
--   a session whose time to live ends while a run works on it: it does not, the commit sets the next end.
local head, log, state, run = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known = redis.call('HMGET', run, 'status', 'answer', 'thread')
-- A run belongs to one thread: else one agent's answer or journal would be given to another one.
if known[3] and known[3] ~= ARGV[10] then return {'OTHER', known[3]} end
if known[1] == 'ended' then return {'DUP', known[2]} end
if known[1] == 'interrupted' and known[2] and ARGV[16] ~= '1' then return {'WAIT', known[2]} end

if ARGV[13] == '' and left(head, KEYS[10], ARGV[10]) then return {'LEFT'} end
local old = stale(KEYS[8], KEYS[9], ARGV[3], ARGV[4])
if old then return old end
local lacking = missing(20)
if lacking then return lacking end

local now = now_ms()
local h = redis.call('HMGET', head, 'host', 'run', 'token', 'edition', 'seq', 'turn', 'calls', 'held_by', 'watermark',
  'user', 'bytes')
-- A session belongs to one user: a pass would else write one user's words into another one's block.
if ARGV[11] ~= '' and h[10] and h[10] ~= '' and h[10] ~= ARGV[11] then return {'USER'} end
local host, holder, token = h[1] or '', h[2] or '', h[3]
if h[8] and h[8] ~= '' and h[8] ~= ARGV[1] then return {'HELD', h[8]} end
local mine = holder == ARGV[1] and host == ARGV[2]
if holder ~= '' and not mine then
  local alive = redis.call('ZSCORE', KEYS[6], host)
  -- A host serves the runs of a thread one after the other, so a lease of the asking host itself is one that it left
  -- behind: its turn could not be stored (the server was away, the commit was cancelled) and nobody came again.
  if alive and tonumber(alive) > now and host ~= ARGV[2] then return {'BUSY', holder, host} end
end
if not mine then
  token = redis.call('INCR', KEYS[7])
  if not h[4] then
    -- The edition comes from the counter that never goes back: a thread that was deleted and made again looks like no
    -- thread that a host may still have in its cache.
    redis.call('HSET', head, 'edition', token, 'born', token, 'seq', 0, 'turn', 0, 'calls', 0, 'watermark', 0, 'watermark_turn', 0,
      'due_turn', 0, 'created_at', now)
    if ARGV[13] == '' then
      redis.call('SADD', KEYS[10], string.match(ARGV[10], '^([^|]*)|'))
      redis.call('ZADD', KEYS[11], now, ARGV[10])
    end
    h[4], h[5], h[6], h[7], h[9] = tostring(token), '0', '0', '0', '0'
  end
  redis.call('HSET', head, 'host', ARGV[2], 'run', ARGV[1], 'token', token, 'held_by', '')
  if known[2] then redis.call('HDEL', run, 'answer') end
  if ARGV[11] ~= '' then redis.call('HSET', head, 'user', ARGV[11]) end
  local kept = {head, log, KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18]}
  if ARGV[13] ~= '' then
    redis.call('ZREMRANGEBYSCORE', KEYS[19], '-inf', now)
    redis.call('ZADD', KEYS[19], ARGV[15] == '' and '+inf' or now + tonumber(ARGV[14]), ARGV[10])
    if ARGV[15] ~= '' then redis.call('ZADD', KEYS[19], '+inf', ARGV[15]) end
    live(kept, ARGV[14], now)
  else
    kept[#kept + 1] = state
    kept[#kept + 1] = KEYS[19]
    live(kept, '', now)
    if ARGV[11] ~= '' then redis.call('SADD', KEYS[12], ARGV[10]) end
  end
  -- What it was asked, and by which definition, is what it was when the run began, whoever takes it over.
  if not known[1] then
    redis.call('HSET', run, 'started_at', now, 'input', ARGV[8], 'def', ARGV[3], 'parent', ARGV[13])
  end
  redis.call('HSET', run, 'status', 'running', 'thread', ARGV[10], 'host', ARGV[2], 'token', token,
    'needs_invocation_state', ARGV[9], 'user', ARGV[11])
  redis.call('ZADD', KEYS[5], 'NX', now, ARGV[1])
end

local count = redis.call('LLEN', log)
local first, values = math.max(0, count - tonumber(ARGV[7])), {}
local warm = ARGV[5] == h[4] and tonumber(ARGV[6]) <= count
local c = redis.call('HMGET', KEYS[17], 'version', 'from')
if warm and tonumber(ARGV[6]) > first then first = tonumber(ARGV[6]) end
-- What a summary stands for is not loaded.
if not warm and c[2] and tonumber(c[2]) > first then first = math.min(tonumber(c[2]), count) end
if not (warm and tonumber(ARGV[6]) == count) then values = redis.call('HGETALL', state) end
local journal, context = {}, false
if (c[1] or '') ~= ARGV[12] then context = redis.call('HGETALL', KEYS[17]) end
if known[1] then journal = redis.call('HGETALL', run) end
return {'OK', token, known[1] and 1 or 0, {h[4], h[5], h[6], h[7], h[9], h[11] or '0'}, first, redis.call('LRANGE', log, first, -1),
  values, journal, moved(20, 17), context, redis.call('HGET', head, 'always') or ''}
