-- include fresh moved
-- What a run without a session needs: definition and blocks, one consistent moment. Writes nothing.
-- KEYS 1 def 2 attach 3… blocks   ARGV 1 definition hash 2 attach version 3… known versions
-- → OK blocks | STALE … | MISSING i…
local old = stale(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if old then return old end
local lacking = missing(3)
if lacking then return lacking end
return {'OK', moved(3, 3)}
