"""The embedded store: ArcadeDB in this process."""
