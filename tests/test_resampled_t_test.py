"""The corrected resampled t-test: its formula, and what it says where it cannot say anything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from retgk.comparison.table import corrected_t_test


@given(
    st.lists(st.floats(-1, 1).filter(lambda x: abs(x) > 1e-6), min_size=2, max_size=30),
    st.integers(2, 1000),
    st.integers(1, 1000),
)
def test_the_t_test_is_that_of_nadeau_and_bengio(d: list[float], train: int, test: int) -> None:
    found = corrected_t_test(d, train, test)
    if max(d) - min(d) <= 1e-9 * max(map(abs, d)):
        assert np.isnan(found).all()
        return
    n, mean = len(d), sum(d) / len(d)
    variance = sum((x - mean) ** 2 for x in d) / (n - 1)
    t = mean / ((1 / n + test / train) * variance) ** 0.5
    assert found.statistic == pytest.approx(t, rel=1e-6, abs=1e-9)
    assert found.p_value == pytest.approx(2 * (1 - stats.t(n - 1).cdf(abs(t))), abs=1e-9)


def test_without_overlap_it_is_the_plain_t_test() -> None:
    d = [0.1, 0.3, -0.1, 0.2]
    plain = stats.ttest_1samp(d, 0)
    assert corrected_t_test(d, 10**12, 1) == pytest.approx((plain.statistic, plain.pvalue))


def test_differences_that_are_alike() -> None:
    assert corrected_t_test([0.0, 0.0], 9, 1).p_value == 1
    assert np.isnan(corrected_t_test([0.1, 0.1], 9, 1)).all()
    assert np.isnan(corrected_t_test([0.9 - 0.85, 0.8 - 0.75], 9, 1)).all()  # but for rounding
    assert np.isnan(corrected_t_test([0.1], 9, 1).p_value)
