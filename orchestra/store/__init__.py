"""Floor 1: Redis connection, keys, and Lua scripts behind typed functions."""
