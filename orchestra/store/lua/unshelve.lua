-- Delete passages of one owner, a bounded number a call, and what was derived of them.
-- KEYS 1 shelf 2 changes 3 archives 4 state 5 vector set 6… passages   ARGV 1 owner 2… id of each passage
-- → OK number of passages that are left
-- Killed between two calls: the owner stays among the archives until its shelf is empty, so a second deletion finds what
-- is left. The stream goes with the first call, not with the last: whoever holds the shelf in memory sees a number that
-- is not the one it knows and loads what is left, instead of finding what is gone. Shelved meanwhile: it is there, on a
-- stream of its own.
redis.call('UNLINK', KEYS[2], KEYS[4], KEYS[5])
for i = 6, #KEYS do
  redis.call('UNLINK', KEYS[i])
  redis.call('ZREM', KEYS[1], ARGV[i - 4])
end
local left = redis.call('ZCARD', KEYS[1])
if left == 0 then redis.call('SREM', KEYS[3], ARGV[1]) end
return {'OK', left}
