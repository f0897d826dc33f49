-- A host works with a cached definition and a cached list of attached blocks. When either changed, it gets both anew
-- before anything is written, so a registration or an attachment counts from the very next turn on every host.
local function stale(def, attach, hash, version)
  if (redis.call('HGET', def, 'hash') or '') ~= hash or (redis.call('HGET', attach, '@version') or '0') ~= version then
    local found = redis.call('HMGET', def, 'hash', 'json')
    return {'STALE', found[1] or '', found[2] or '', redis.call('HGETALL', attach)}
  end
end
