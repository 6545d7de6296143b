"""Files as they have to be kept: locked, private to their owner, on the disk before anything names them, and known."""
