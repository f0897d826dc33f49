-- Read fields of many passages. KEYS passages   ARGV fields   → a list of values for each; false where there is none
local out = {}
for i = 1, #KEYS do out[i] = redis.call('HMGET', KEYS[i], unpack(ARGV)) end
return {'OK', out}
