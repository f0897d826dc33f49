-- include fresh moved
-- What a run without a session needs: definition and blocks, one consistent moment. Writes nothing. It also tells which
-- of the further agents that the run may start are still as the host has them, so that they need not ask again.
-- KEYS 1 def 2 attach, def and attach of each further agent, blocks
-- ARGV 1 definition hash 2 attach version 3 how many further agents, hash and version of each, known versions of blocks
-- → OK blocks current… | STALE … | MISSING i…
local old = stale(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if old then return old end
local further = tonumber(ARGV[3])
local first = 3 + 2 * further
local lacking = missing(first)
if lacking then return lacking end
local current = {}
for i = 1, further do
  local def, hash = KEYS[1 + 2 * i], ARGV[2 + 2 * i]
  local attach, version = KEYS[2 + 2 * i], ARGV[3 + 2 * i]
  local same = (redis.call('HGET', def, 'hash') or '') == hash
    and (redis.call('HGET', attach, '@version') or '0') == version
  current[i] = same and 1 or 0
end
return {'OK', moved(first, first + 1), current}
