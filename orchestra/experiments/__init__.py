"""Floor 7: how often should memory sleep? Experiments on one's own conversations."""
