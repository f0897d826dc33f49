-- include clock record
-- One edit of one block (or of a pass's draft of it): checked and applied in one step, so no edit is lost silently.
--
-- KEYS 1 block 2 history 3 memo 4 owner (head of a thread, or a pass) 5 events
-- ARGV 1 operation 2 memo field ('' = the memo is a key of its own, 15 minutes) 3 token ('' = no lease)
--      4 written by an agent 5 author 6 run 7 pass 8 sources 9 draft 10 history bound 11 expected version ('' = any)
--      12 block id, then: append text chars | replace old new oldchars newchars | insert text chars line
--      | rethink text chars | update (field value)…  (chars: the value's length in code points, counted by the caller)
-- → OK version chars limit | DUP version chars limit | SAME version chars limit | FENCED token | UNKNOWN | READONLY
--   | LIMIT limit size | MATCHES line… | RANGE lines | MOVED version value
--
-- The same edit twice (a retry, a resumed turn on a second host): the memo answers DUP. A late owner: FENCED.
local block = KEYS[1]
local memo
if ARGV[2] == '' then memo = redis.call('GET', KEYS[3]) else memo = redis.call('HGET', KEYS[3], ARGV[2]) end
if memo then
  local version, chars, limit = string.match(memo, '^(%d+) (%d+) (%d+)$')
  return {'DUP', version, chars, limit}
end
if ARGV[3] ~= '' then
  -- The token stays after a run's end, until the next run: so the run itself must still hold the thread.
  local lease = redis.call('HMGET', KEYS[4], 'token', 'run')
  if lease[1] ~= ARGV[3] or (ARGV[9] ~= '1' and lease[2] ~= ARGV[6]) then return {'FENCED', lease[1] or ''} end
end
local b = redis.call('HMGET', block, 'value', 'chars', 'limit', 'version', 'read_only', 'label')
if not b[4] then return {'UNKNOWN'} end
local value, chars, limit, version = b[1], tonumber(b[2]), tonumber(b[3]), tonumber(b[4])
if ARGV[4] == '1' and b[5] == '1' then return {'READONLY'} end
if ARGV[11] ~= '' and tonumber(ARGV[11]) ~= version then return {'MOVED', version, value} end

local op, changed, visible = ARGV[1], nil, true
if op == 'append' then
  if value == '' or string.sub(value, -1) == '\n' then
    value, chars = value .. ARGV[13], chars + tonumber(ARGV[14])
  else
    value, chars = value .. '\n' .. ARGV[13], chars + 1 + tonumber(ARGV[14])
  end
elseif op == 'replace' then
  local old, lines, line, from, at = ARGV[13], {}, 1, 1, nil
  local first
  while #lines < 20 do
    at = string.find(value, old, from, true)
    if not at then break end
    local _, newlines = string.gsub(string.sub(value, from, at - 1), '\n', '')
    line = line + newlines
    lines[#lines + 1] = line
    first = first or at
    from = at + 1
    if string.sub(value, at, at) == '\n' then line = line + 1 end
  end
  if #lines ~= 1 then
    table.insert(lines, 1, 'MATCHES')
    return lines
  end
  value = string.sub(value, 1, first - 1) .. ARGV[14] .. string.sub(value, first + #old)
  chars = chars - tonumber(ARGV[15]) + tonumber(ARGV[16])
elseif op == 'insert' then
  local text, line = ARGV[13], tonumber(ARGV[15])
  local starts = {1}
  if value == '' then starts = {} end
  local at = string.find(value, '\n', 1, true)
  while at do
    starts[#starts + 1] = at + 1
    at = string.find(value, '\n', at + 1, true)
  end
  if line == -1 then line = #starts end
  if line < 0 or line > #starts then return {'RANGE', #starts} end
  if value == '' then
    value, chars = text, tonumber(ARGV[14])
  elseif line == #starts then
    value, chars = value .. '\n' .. text, chars + 1 + tonumber(ARGV[14])
  else
    local start = starts[line + 1]
    value = string.sub(value, 1, start - 1) .. text .. '\n' .. string.sub(value, start)
    chars = chars + 1 + tonumber(ARGV[14])
  end
elseif op == 'rethink' then
  value, chars = ARGV[13], tonumber(ARGV[14])
else
  changed, visible = {}, false
  for i = 13, #ARGV, 2 do
    if redis.call('HGET', block, ARGV[i]) ~= ARGV[i + 1] then
      -- Metadata and tags stand in no prompt: changing them makes no new version.
      if ARGV[i] ~= 'metadata' and ARGV[i] ~= 'tags' then visible = true end
      changed[#changed + 1] = ARGV[i]
      changed[#changed + 1] = ARGV[i + 1]
      if ARGV[i] == 'value' then value = ARGV[i + 1] end
      if ARGV[i] == 'chars' then chars = tonumber(ARGV[i + 1]) end
      if ARGV[i] == 'limit' then limit = tonumber(ARGV[i + 1]) end
    end
  end
  if #changed == 0 then return {'SAME', version, chars, limit} end
end
-- Data that is over its limit from elsewhere may be shortened step by step; nothing may grow over it.
if chars > limit and not (chars <= tonumber(b[2]) and limit >= tonumber(b[3])) then return {'LIMIT', limit, chars} end
if not changed and value == b[1] then return {'SAME', version, chars, limit} end

local now = now_ms()
if visible then version = version + 1 end
redis.call('HSET', block, 'value', value, 'chars', chars, 'version', version, 'updated_at', now)
if changed then redis.call('HSET', block, unpack(changed)) end
local answer = version .. ' ' .. chars .. ' ' .. limit
if ARGV[2] == '' then redis.call('SET', KEYS[3], answer, 'EX', 900) else redis.call('HSET', KEYS[3], ARGV[2], answer) end
if ARGV[9] ~= '1' then
  if visible then record(KEYS[2], ARGV[10], version, op, ARGV[5], ARGV[6], ARGV[7], ARGV[8], value, now) end
  redis.call('XADD', KEYS[5], 'MAXLEN', '~', 10000, '*', 'type', 'block', 'block', ARGV[12], 'label', b[6],
    'version', version, 'op', op, 'author', ARGV[5], 'run', ARGV[6])
end
return {'OK', version, chars, limit}
