-- One version of a block: its entry in the history. The id is the version, so a version can never be recorded twice.
local function record(hist, bound, version, op, author, run, pass, sources, value, now)
  redis.call('XADD', hist, 'MAXLEN', '~', bound, version .. '-0', 'op', op, 'author', author, 'run', run,
    'pass', pass, 'sources', sources, 'value', value, 'at', now)
end
