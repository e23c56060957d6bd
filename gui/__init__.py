"""The window: the only place in Logitscope that knows Qt."""
