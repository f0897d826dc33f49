-- Answer all that a run waits for, or nothing.
--
-- KEYS 1 run 2 head 3 token
-- ARGV 1 run 2 number of answers a, then a × (id, answer JSON), then tools that are not asked about again (agent|tool)
-- → OK | GONE | ENDED | UNKNOWN id | ANSWERED id | MISSING id…
--
-- From here on the run counts as running on no host: a process that dies right after this call loses nothing, since the
-- caller or the watch for orphans sends the run, whose answers stand in it. It still holds its thread, until a host
-- takes the lease. The new token keeps out a host that is late with its `suspend`.
-- Two callers at once: the second one finds the first one's answers, ANSWERED, and changes nothing.
-- The thread was deleted meanwhile: GONE.
local run, head = KEYS[1], KEYS[2]
local status = redis.call('HGET', run, 'status')
if not status then return {'GONE'} end
if status == 'ended' then return {'ENDED'} end
local asked, answered = {}, {}
for _, field in ipairs(redis.call('HKEYS', run)) do
  local kind, id = string.sub(field, 1, 2), string.sub(field, 3)
  if kind == 'i:' then asked[id] = true elseif kind == 'a:' then answered[id] = true end
end
local count, given = tonumber(ARGV[2]), {}
for i = 1, count do
  local id = ARGV[1 + 2 * i]
  if not asked[id] then return {'UNKNOWN', id} end
  if answered[id] then return {'ANSWERED', id} end
  given[id] = true
end
local missing = {'MISSING'}
for id in pairs(asked) do
  if not answered[id] and not given[id] then missing[#missing + 1] = id end
end
if #missing > 1 then return missing end
if status ~= 'interrupted' or count == 0 then return {'OK'} end
if redis.call('HGET', head, 'held_by') ~= ARGV[1] then return {'GONE'} end
for i = 1, count do redis.call('HSET', run, 'a:' .. ARGV[1 + 2 * i], ARGV[2 + 2 * i]) end
redis.call('HSET', run, 'status', 'running', 'host', '', 'reason', '')
redis.call('HDEL', run, 'answer')
redis.call('HSET', head, 'token', redis.call('INCR', KEYS[3]))
local always = redis.call('HGET', head, 'always') or ''
for i = 3 + 2 * count, #ARGV do
  if not string.find('\n' .. always .. '\n', '\n' .. ARGV[i] .. '\n', 1, true) then
    always = always == '' and ARGV[i] or always .. '\n' .. ARGV[i]
    redis.call('HSET', head, 'always', always)
  end
end
return {'OK'}
