-- Take a session whose time to live has ended out of the lists, with its own blocks when no other agent has it.
-- KEYS 1 head 2 session 3 threads 4 due 5 blocks (all ids), then (block, history, users)…
-- ARGV 1 thread 2 agent 3… id of each block
-- → GONE | KEPT: it is there again; somebody has had a turn since the caller looked, and nothing is taken from it
if redis.call('EXISTS', KEYS[1]) == 1 then return {'KEPT'} end
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[2], ARGV[2])
if redis.call('SCARD', KEYS[2]) == 0 then
  for i = 3, #ARGV do
    redis.call('SREM', KEYS[5], ARGV[i])
    for j = 3 * i - 3, 3 * i - 1 do redis.call('DEL', KEYS[j]) end
  end
end
return {'GONE'}
