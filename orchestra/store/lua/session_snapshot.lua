-- The history and the generation it belongs to, at one moment. KEYS 1 items 2 meta
-- → OK generation ('' when there is none) entries
return {'OK', redis.call('HGET', KEYS[2], 'generation') or '', redis.call('LRANGE', KEYS[1], 0, -1)}
