-- include moved
-- Append one entry to a run's journal: a model reply (the start of its calls) or a tool's result.
-- KEYS 1 head 2 run 3… blocks   ARGV 1 token 2 field 3 value 4… known versions
-- → OK blocks | DUP value blocks | FENCED token
-- A field is written once: a repeated call (lost reply) or a second host that does the same step gets the first value.
local lease = redis.call('HMGET', KEYS[1], 'token', 'run')
if lease[1] ~= ARGV[1] or lease[2] == '' then return {'FENCED', lease[1] or ''} end
if redis.call('HSETNX', KEYS[2], ARGV[2], ARGV[3]) == 0 then
  return {'DUP', redis.call('HGET', KEYS[2], ARGV[2]), moved(3, 4)}
end
return {'OK', moved(3, 4)}
