-- include clock
-- A snapshot of a thread: what belongs to one moment, copied by the server in one step.
-- KEYS 1 head 2 log 3 turns 4 state 5 context 6 offload 7 attach 8 the thread's snapshots 9 snapshot 10 its log
--      11 its turns 12 its state 13 its context 14 its offload 15 snapshots (all ids), then (block, copy)…
-- ARGV 1 id 2 thread 3 attach version and 4 user that the caller saw 5 life, ms ('' = for ever) 6 manifest of the
--      workspace ('' = none) 7 its folder 8 edition and 9 seq before the workspace was read ('' without one), then block id…
-- → OK at | DUP at | NONE | MOVED | BUSY run
-- The id comes from the operation: sent again it finds itself, DUP. A process that dies before this call has made
-- nothing that anybody lists (blobs of a workspace are found again by the next one, or pruned).
-- A turn that is committed while the workspace is read → MOVED: the files and the log would be of two moments. A run that
-- works on the thread may be writing files → BUSY; without a workspace it does not matter, its turn is not in the log.
local there = redis.call('HGET', KEYS[9], 'at')
if there then return {'DUP', there} end
local h = redis.call('HMGET', KEYS[1], 'edition', 'seq', 'turn', 'calls', 'watermark', 'watermark_turn', 'due_turn', 'user', 'run')
if not h[1] then return {'NONE'} end
if (redis.call('HGET', KEYS[7], '@version') or '0') ~= ARGV[3] or (h[8] or '') ~= ARGV[4] then return {'MOVED'} end
if ARGV[6] ~= '' then
  if h[9] and h[9] ~= '' then return {'BUSY', h[9]} end
  if h[1] ~= ARGV[8] or h[2] ~= ARGV[9] then return {'MOVED'} end
end
local now = now_ms()
local made, blocks, versions = {KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]}, {}, {}
for i = 2, 6 do redis.call('COPY', KEYS[i], KEYS[i + 8], 'REPLACE') end
for i = 16, #KEYS, 2 do
  local b = redis.call('HMGET', KEYS[i], 'version', 'label')
  if b[1] then
    redis.call('COPY', KEYS[i], KEYS[i + 1], 'REPLACE')
    made[#made + 1] = KEYS[i + 1]
    blocks[#blocks + 1] = ARGV[10 + (i - 16) / 2]
    versions[#versions + 1] = b[1]
  end
end
redis.call('HSET', KEYS[9], 'thread', ARGV[2], 'at', now, 'seq', h[2], 'turn', h[3], 'calls', h[4], 'watermark', h[5],
  'watermark_turn', h[6], 'due_turn', h[7], 'user', h[8] or '', 'messages', redis.call('LLEN', KEYS[10]),
  'blocks', table.concat(blocks, ' '), 'versions', table.concat(versions, ' '), 'workspace', ARGV[6], 'folder', ARGV[7])
for _, key in ipairs(made) do
  -- A copy brings the end of what it was copied from along.
  if ARGV[5] == '' then redis.call('PERSIST', key)
  else redis.call('PEXPIREAT', key, string.format('%.0f', now + tonumber(ARGV[5]))) end
end
redis.call('RPUSH', KEYS[8], ARGV[1])
redis.call('SADD', KEYS[15], ARGV[1])
return {'OK', now}
