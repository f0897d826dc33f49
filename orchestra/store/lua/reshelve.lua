-- include clock shelve
-- Change or delete one passage, for a developer; agents never do.
-- KEYS 1 passage 2 shelf 3 changes 4 vector set   ARGV 1 update | delete 2 id, then for update: (field value)…
-- → OK | SAME | UNKNOWN
-- Twice: the second update finds the same values (SAME), the second deletion finds nothing (UNKNOWN).
-- Another text has no vector yet; one that is being made for the old text is refused by its version (see `embedded`).
if redis.call('EXISTS', KEYS[1]) == 0 then return {'UNKNOWN'} end
if ARGV[1] == 'delete' then
  take_off({shelf = KEYS[2], stream = KEYS[3], vectors = KEYS[4]}, KEYS[1], ARGV[2])
  return {'OK'}
end
local touched = false
for i = 3, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then
    touched = true
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    if ARGV[i] == 'text' then
      redis.call('HINCRBY', KEYS[1], 'version', 1)
      redis.call('HDEL', KEYS[1], 'embedding', 'embedded')
    end
  end
end
if not touched then return {'SAME'} end
redis.call('HSET', KEYS[1], 'updated_at', now_ms())
changed(KEYS[3], ARGV[2])
return {'OK'}
