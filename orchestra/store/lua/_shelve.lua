-- Who holds a shelf in memory learns of a change by a stream whose ids count up by one: a gap says "load it anew".
-- A new stream begins at the clock's microseconds: when a shelf was deleted and somebody shelves again, no number comes
-- twice, so a process that still holds the deleted shelf cannot take itself for up to date.
local function changed(key, id)
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  local n
  if last then
    n = tonumber(string.match(last[1], '^%d+')) + 1
  else
    local t = redis.call('TIME')
    n = t[1] * 1000000 + t[2]
  end
  redis.call('XADD', key, 'MAXLEN', '~', 10000, string.format('%.0f', n) .. '-0', 'id', id)
end

-- One new passage. Its id is derived from the operation, so a second arrival finds it there.
local function shelve(keys, passage, owner, agent, user, id, text, tags, source, created, now)
  if redis.call('EXISTS', passage) == 1 then return 0 end
  redis.call('HSET', passage, 'text', text, 'tags', tags, 'agent', agent, 'user', user, 'source', source,
    'created_at', created, 'updated_at', now, 'version', 1)
  redis.call('ZADD', keys.shelf, created, id)
  redis.call('SADD', keys.archives, owner)
  changed(keys.stream, id)
  return 1
end

-- One passage less. A vector set holds no deleted passage at any moment, so it is only ever added to (see `vectors`).
-- It is there only where the server has the command.
local function take_off(keys, passage, id)
  if redis.call('DEL', passage) == 0 then return end
  redis.call('ZREM', keys.shelf, id)
  if redis.call('EXISTS', keys.vectors) == 1 then redis.call('VREM', keys.vectors, id) end
  changed(keys.stream, id)
end
