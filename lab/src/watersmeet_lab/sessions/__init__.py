"""What a session costs that lacks some of the settings of `wm.configure`: the same small join in each.

Processor seconds of the whole tree of processes are counted beside the seconds on the clock, which depend on
who else uses the machine.
"""
