"""Bytes and lines of the host: read-only, bounded, without meaning."""
