-- include clock life
-- A run waits for answers: what it asks, what it has done, and its hold on the thread. Nothing goes into the log yet.
--
-- KEYS 1 head 2 run 3 events 4 children of the session 5… the thread's other keys
-- ARGV 1 run 2 token 3 its result as JSON 4 thread 5 number of questions q 6 number of journal entries n
--      7 '1' for a child run; then q × (id, question JSON), n × (journal field, value), and the journal fields that are not needed any more
-- → OK | FENCED token
--
-- The same call twice (lost reply): the run waits already and its token is this one, OK. Somebody has answered between
-- the two: `answer` has taken a new token, so the late call is FENCED and does not put the run to sleep again.
-- The process dies before this call: the run is an orphan with its journal, and comes here again by itself. After it:
-- everything that a resume needs is there, on whatever host, however long it takes: no key of the thread ends meanwhile.
local head, run = KEYS[1], KEYS[2]
local known = redis.call('HMGET', run, 'status', 'token')
if known[1] == 'interrupted' and known[2] == ARGV[2] then return {'OK'} end
local lease = redis.call('HMGET', head, 'token', 'run')
if lease[1] ~= ARGV[2] or lease[2] ~= ARGV[1] then return {'FENCED', lease[1] or ''} end
local at = 7
for i = 1, tonumber(ARGV[5]) do
  redis.call('HSET', run, 'i:' .. ARGV[at + 1], ARGV[at + 2])
  at = at + 2
end
for i = 1, tonumber(ARGV[6]) do
  redis.call('HSETNX', run, ARGV[at + 1], ARGV[at + 2])
  at = at + 2
end
for i = at + 1, #ARGV do redis.call('HDEL', run, ARGV[i]) end
redis.call('HSET', run, 'status', 'interrupted', 'reason', 'interrupt', 'answer', ARGV[3])
redis.call('HSET', head, 'host', '', 'run', '', 'held_by', ARGV[1], 'updated_at', now_ms())
local kept = {head}
for i = 5, #KEYS do kept[#kept + 1] = KEYS[i] end
live(kept, '', now_ms())
if ARGV[7] == '1' then redis.call('ZADD', KEYS[4], 'XX', '+inf', ARGV[4]) end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'type', 'interrupt', 'thread', ARGV[4], 'run', ARGV[1])
return {'OK'}
