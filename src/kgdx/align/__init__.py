"""Joining what is the same: which entries of two sources mean one thing, decided by names and by what is known."""
