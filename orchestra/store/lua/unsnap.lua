-- Delete snapshots. KEYS 1 the thread's snapshots 2 snapshots (all ids), then all keys of the snapshots   ARGV ids   → OK
for _, id in ipairs(ARGV) do
  redis.call('LREM', KEYS[1], 0, id)
  redis.call('SREM', KEYS[2], id)
end
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
return {'OK'}
