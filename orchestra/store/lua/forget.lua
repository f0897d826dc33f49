-- Take the threads of a session whose time to live has ended out of the lists, with the session's own blocks when no
-- agent has it any more.
-- KEYS 1 session 2 threads 3 due 4 blocks (all ids), then heads…, then (block, history, users)…
-- ARGV 1 number n of threads, then n × (thread, agent), then the id of each block
-- → OK
-- Somebody has had a turn since the caller looked: that thread is there again, nothing is taken from it, and the blocks
-- stay. All threads in one step: what an agent declared is looked up by its place in the list, so whoever died between
-- two of them would leave blocks that nobody can name.
local n = tonumber(ARGV[1])
for i = 1, n do
  if redis.call('EXISTS', KEYS[4 + i]) == 0 then
    redis.call('ZREM', KEYS[2], ARGV[2 * i])
    redis.call('ZREM', KEYS[3], ARGV[2 * i])
    redis.call('SREM', KEYS[1], ARGV[2 * i + 1])
  end
end
if redis.call('SCARD', KEYS[1]) == 0 then
  local at = 5 + n
  for i = 2 * n + 2, #ARGV do
    redis.call('SREM', KEYS[4], ARGV[i])
    redis.call('DEL', KEYS[at], KEYS[at + 1], KEYS[at + 2])
    at = at + 3
  end
end
return {'OK'}
