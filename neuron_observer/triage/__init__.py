"""From whatever people paste to a verdict: what happened, where, how sure, what to do."""
