"""What those who write rows of recordings share with those who read them (`sources.rows`)."""

SEPARATOR = "\f"  # between contents of files of a set
