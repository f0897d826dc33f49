-- Who holds a shelf in memory learns of a change by a stream whose ids count up by one: a gap says "load it anew".
local function changed(key, id)
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  local n = last and tonumber(string.match(last[1], '^%d+')) + 1 or 1
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
