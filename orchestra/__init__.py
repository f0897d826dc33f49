"""Orchestra: a multi-agent runtime with shared memory."""
