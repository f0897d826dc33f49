-- Whether an agent's session of this id has ended by its time to live and was not taken out of the lists yet: the thread
-- is not there, and the agent still stands among those that have the session.
local function left(head, session, thread)
  return redis.call('EXISTS', head) == 0
    and redis.call('SISMEMBER', session, string.match(thread, '^([^|]*)|')) == 1
end
