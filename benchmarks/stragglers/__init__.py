"""The straggler benchmark: seeded jobs with a known truth, the detector and its rivals, one table.

    topology   who is where: rank → stage, replica, tensor group, device, node
    noise      what healthy step times look like, and eight ways in which they are ugly
    faults     what is injected (published distributions) and the truth about it
    benign     what must stay silent
    job        a 1F1B step model: noise x faults → busy, wait, input, tokens, step period
    views      what a hook, five-second counters or fifteen-second scrapes would show of it
    hangs      jobs that stop, one for each cause
    rivals/    the other rules, each a matrix of scores step x rank
    ours       the detector under test, fed nothing but the views
    scoring    alarms against truth: precision, recall, place, class, delay
    intervals  Wilson and bootstrap
    suites     which jobs are run
    goals, report, weak, explain   figures that must hold, tables, weak cells, every miss

The simulator follows published distributions, not the detector: it imports nothing of
`neuron_observer.stragglers`; only `ours` does.
"""
