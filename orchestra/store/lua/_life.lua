-- A session lives as long as its head: all its keys end at one moment, so nobody ever sees half of one.
-- `keys` get the end that KEYS[head] has; keys that are not there do not matter.
local function follow(head, keys)
  local ends = redis.call('PEXPIRETIME', head)
  if ends > 0 then
    for _, key in ipairs(keys) do redis.call('PEXPIREAT', key, ends) end
  end
end
-- `keys`, the head first, end `ttl` milliseconds from now; '' = never.
local function live(keys, ttl, now)
  if ttl ~= '' then
    local ends = string.format('%.0f', now + tonumber(ttl))
    for _, key in ipairs(keys) do redis.call('PEXPIREAT', key, ends) end
  elseif redis.call('PEXPIRETIME', keys[1]) > 0 then
    for _, key in ipairs(keys) do redis.call('PERSIST', key) end
  end
end
