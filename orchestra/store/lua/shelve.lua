-- include clock shelve
-- Add passages to one owner's shelf in the archive; their vectors come later (see `embedded`).
-- KEYS 1 shelf 2 changes 3 archives 4… passages
-- ARGV 1 owner 2 agent 3 user, then per passage: id text tags source created-at ('' = now)
-- → OK number of new ones
-- The same call twice (a retry, a resumed turn, a late owner): the ids are derived from the operation, so nothing is
-- added. Dies before: nothing is there, and the call is made again. Two owners of one turn write the same passage.
local keys, now, new = {shelf = KEYS[1], stream = KEYS[2], archives = KEYS[3]}, now_ms(), 0
for i = 4, #KEYS do
  local a = 4 + (i - 4) * 5
  local created = ARGV[a + 4] ~= '' and ARGV[a + 4] or now
  new = new + shelve(keys, KEYS[i], ARGV[1], ARGV[2], ARGV[3], ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3],
    created, now)
end
return {'OK', new}
