"""
Tests of populations of graphs: do two or more differ, and do graphs go with a number.

`population_tests` has what users call, `population_design` checks what they give. `permuted_test`
leads from there to a result: `kernel_family` makes the kernel matrices, `quadratic_forms` the
statistics, `permutations` their distribution without a difference. `effect_sizes` says how much
populations differ, `differences` where, and `population_result` holds what was found.
"""
