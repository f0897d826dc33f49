-- Forget a definition, the list of its agent's blocks and, of the blocks that are named, those that nobody else has.
-- KEYS 1 def 2 attach 3 agents 4 sources 5 blocks (all ids), then the users of each ref of the list…, then for each
--   block: block, history, its users, the users of what declares it
-- ARGV 1 name 2 attach version that the caller saw 3 refs in the list 4… block ids
-- → OK deleted ids… | STALE
-- All in one step: the list is all that tells which blocks an agent had, so whoever dies between the one and the other
-- would leave blocks that nobody can name. Another agent takes a block in before this: it is among its users and stays;
-- after this: the block is gone, UNKNOWN. The list moved since the caller looked: STALE, it looks again.
-- Twice: there is no list any more, and the blocks are gone.
if (redis.call('HGET', KEYS[2], '@version') or '0') ~= ARGV[2] then return {'STALE'} end
local refs = tonumber(ARGV[3])
for i = 6, 5 + refs do redis.call('SREM', KEYS[i], ARGV[1]) end
redis.call('SREM', KEYS[3], ARGV[1])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[4])
local out = {'OK'}
for i = 4, #ARGV do
  local at = 6 + refs + (i - 4) * 4
  if redis.call('SCARD', KEYS[at + 2]) == 0 and redis.call('SCARD', KEYS[at + 3]) == 0 then
    redis.call('SREM', KEYS[5], ARGV[i])
    if redis.call('DEL', KEYS[at], KEYS[at + 1], KEYS[at + 2]) > 0 then out[#out + 1] = ARGV[i] end
  end
end
return out
