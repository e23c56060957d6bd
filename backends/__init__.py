"""The model libraries behind one narrow border, and the process that owns a model."""
