"""
Tests of populations of graphs: do two or more differ, and do graphs go with a number.

`tests` has what users call and the way from there to a result, `design` checks what they give and
makes the kernel matrices, `statistics` has the quadratic forms, their permutations and effect
sizes, `results` holds what was found and where groups differ.
"""
