"""One test from its kernel matrices to its result: what all tests of populations share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.engine.exact.exact_engine import DEFAULT_TOL, ExactEngine
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.node_kernels import Laplacian
from retgk.populations.differences import NodeEvidence
from retgk.populations.kernel_family import GraphKernelMatrix, KernelFamily, kernel_matrices
from retgk.populations.permutations import (
    Relabellings,
    check_room_for,
    max_test,
    n_tied,
    permuted_statistics,
)
from retgk.populations.population_design import Blocks
from retgk.populations.population_result import KernelResult, PopulationTest
from retgk.populations.quadratic_forms import QuadraticForm
from retgk.runtime.parallel import n_threads
from retgk.runtime.seeds import RandomState, whole_seed

__all__ = ["Settings", "Work"]

_MOST_PERMUTATIONS = 10**7


@dataclass(frozen=True)
class Settings:
    """What tests have in common beside their kernels."""

    n_permutations: int
    confidence: float | None
    n_jobs: int | None
    seed: int

    @classmethod
    def checked(
        cls, n_permutations: Any, confidence: Any, n_jobs: Any, random_state: RandomState
    ) -> "Settings":
        """Make settings of what a user gives; anything else is an error."""
        is_whole = isinstance(n_permutations, int | np.integer) and n_permutations is not True
        if not is_whole or not 1 <= n_permutations <= _MOST_PERMUTATIONS:
            raise InvalidInputError(
                f"n_permutations must be a whole number from 1 to {_MOST_PERMUTATIONS}, got "
                f"{n_permutations!r}"
            )
        is_share = isinstance(confidence, float | np.floating) and 0 < confidence < 1
        if confidence is not None and not is_share:
            raise InvalidInputError(
                f"confidence must be between 0 and 1, or None for no interval, got {confidence!r}"
            )
        n_threads(n_jobs)
        return cls(int(n_permutations), confidence, n_jobs, whole_seed(random_state))


@dataclass(frozen=True, eq=False)
class Work:
    """Kernel matrices and relabellings of one test."""

    matrices: list[GraphKernelMatrix]
    features: NodeFeatures
    median: Laplacian
    relabellings: Relabellings
    family: KernelFamily
    design: str
    settings: Settings

    @classmethod
    def of(
        cls,
        batch: GraphBatch,
        codes: Ints,
        family: KernelFamily,
        blocks: Blocks,
        settings: Settings,
    ) -> "Work":
        """Compute the kernel matrices of graphs whose labels are `codes`."""
        within = np.zeros(len(codes), np.int64) if blocks.codes is None else blocks.codes
        relabellings = Relabellings(codes, within, settings.n_permutations, settings.seed)
        check_room_for(family.n_kernels, relabellings)
        made = kernel_matrices(batch, family, settings.n_jobs, settings.seed)
        return cls(*made, relabellings, family, blocks.design, settings)

    @property
    def values(self) -> list[Floats]:
        """The matrices alone."""
        return [matrix.values for matrix in self.matrices]

    @property
    def mean_kernel(self) -> Floats:
        """Mean of all kernels of one kind, K_2 where it is there; the data do not choose it."""
        kind = self.family.compared[0]
        found = [matrix.values for matrix in self.matrices if matrix.compare == kind]
        return np.asarray(sum(found[1:], found[0]) / len(found))

    def evidence(self) -> NodeEvidence:
        """What the witness of nodes is made of when somebody asks for it."""
        options = self.family.options
        engine = ExactEngine(
            self.median,
            options.get("attribute_kernel"),
            scale_attributes=options.get("scale_attributes", "raw"),
            tol=options.get("tol", DEFAULT_TOL),
            n_jobs=self.settings.n_jobs,
            random_state=self.settings.seed,
        )
        return NodeEvidence(self.features, engine, self.relabellings.codes)

    def result(
        self,
        kind: Literal["two-sample", "k-sample", "association"],
        form: Callable[[Floats], QuadraticForm],
        **found: Any,
    ) -> PopulationTest:
        """Permute the form of every kernel, and put together what was found."""
        forms = [form(kernel) for kernel in self.values]
        statistics = permuted_statistics(forms, self.relabellings, self.settings.n_jobs)
        test = max_test(statistics, np.array([form.rounding for form in forms]))
        kernels = tuple(
            KernelResult(matrix.compare, matrix.bandwidth, matrix.depth, *map(float, numbers))
            for matrix, *numbers in zip(
                self.matrices, statistics[0], test.single, test.adjusted, strict=True
            )
        )
        return PopulationTest(
            kind=kind,
            p_value=test.p_value,
            statistic=float(test.largest[0]),
            kernels=kernels,
            confidence=self.settings.confidence,
            compare=self.family.compare,
            engine=self.family.chosen_engine(self.features.batch),
            design=self.design,
            n_permutations=self.relabellings.n_drawn,
            are_all=self.relabellings.are_all,
            n_tied=n_tied(form, self.relabellings, self.settings.n_jobs),
            permuted=test.largest[1:],
            codes=self.relabellings.codes,
            **{"group_names": (), **found},
        )
