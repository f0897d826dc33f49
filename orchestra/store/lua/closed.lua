-- include clock shelve life
-- A session is closed: its summary comes into the archive, or into the place of the one of an earlier closing.
-- KEYS 1 head 2 pass 3 closing 4 events 5 spent today 6 shelf 7 changes 8 archives 9 passage
--      10 passage 11 shelf 12 changes 13 vector set of the summary that goes
-- ARGV 1 thread 2 token 3 edition 4 upto seq 5 owner 6 agent 7 user 8 passage id ('' = nothing to say) 9 text 10 tags
--      11 source 12 made at, ms 13 model calls 14 tokens 15 id of the summary that goes ('' = none): all that it tells
--      of was taken away, or it stands with another owner
-- → OK | DUP | FENCED | EDITED
-- Published, reply lost, published again → this stretch is closed: DUP. A worker that slept past its lease: FENCED.
-- Both at once cannot be: one of them has the older token. Dies before: nothing is there, the lease ends, another one
-- does it again. Messages were popped meanwhile: EDITED, and it begins again on the log as it now is.
-- Turns that came meanwhile are not in the summary: the next closing has them.
local h = redis.call('HGET', KEYS[1], 'edition')
local p = redis.call('HMGET', KEYS[2], 'close_token', 'closed', 'closed_edition', 'close_upto')
if p[2] == ARGV[4] and p[3] == ARGV[3] then return {'DUP'} end
if p[1] ~= ARGV[2] then return {'FENCED'} end
if h ~= ARGV[3] then return {'EDITED'} end
local now, id = now_ms(), ARGV[8]
if id ~= '' and redis.call('EXISTS', KEYS[9]) == 1 then
  redis.call('HSET', KEYS[9], 'text', ARGV[9], 'source', ARGV[11], 'created_at', ARGV[12], 'updated_at', now)
  redis.call('HINCRBY', KEYS[9], 'version', 1)
  redis.call('HDEL', KEYS[9], 'embedding', 'embedded')
  redis.call('ZADD', KEYS[6], ARGV[12], id)
  changed(KEYS[7], id)
elseif id ~= '' then
  shelve({shelf = KEYS[6], stream = KEYS[7], archives = KEYS[8]}, KEYS[9], ARGV[5], ARGV[6], ARGV[7], id, ARGV[9],
    ARGV[10], ARGV[11], ARGV[12], now)
end
if ARGV[15] ~= '' then take_off({shelf = KEYS[11], stream = KEYS[12], vectors = KEYS[13]}, KEYS[10], ARGV[15]) end
redis.call('HSET', KEYS[2], 'closed', ARGV[4], 'closed_edition', ARGV[3], 'closed_passage', id, 'closed_at', now,
  'close_token', 0, 'close_claim', '', 'close_tries', 0, 'close_error', '')
redis.call('HINCRBY', KEYS[2], 'calls', ARGV[13])
redis.call('HINCRBY', KEYS[2], 'tokens', ARGV[14])
redis.call('INCRBY', KEYS[5], ARGV[14])
redis.call('EXPIRE', KEYS[5], 172800)
follow(KEYS[1], {KEYS[2]})
if tonumber(p[4] or '0') > tonumber(ARGV[4]) then
  redis.call('ZADD', KEYS[3], now, ARGV[1])
else
  redis.call('ZREM', KEYS[3], ARGV[1])
end
redis.call('XADD', KEYS[4], 'MAXLEN', '~', 10000, '*', 'type', 'closed', 'thread', ARGV[1], 'status', 'published',
  'passage', id, 'error', '')
return {'OK'}
