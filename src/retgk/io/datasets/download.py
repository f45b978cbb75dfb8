"""The TUDataset benchmarks: their names, and downloads with a checksum kept from the first on."""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from retgk.errors import InvalidInputError
from retgk.runtime.progress import progress_bar
from retgk.runtime.storage import atomic_path

__all__ = [
    "MIRRORS",
    "SUBJECT_OF",
    "TUDATASETS",
    "download_archive",
    "forget_checksum",
    "keep_checksum",
    "verify_checksum",
]

MIRRORS = (
    "https://www.chrsmrrs.com/graphkerneldatasets/{name}.zip",
    "https://ls11-www.cs.tu-dortmund.de/people/morris/graphkerneldatasets/{name}.zip",
)
_TIMEOUT_SECONDS = 30
_CHUNK_BYTES = 1 << 16

_BY_SUBJECT = {
    "molecules": """
        AIDS alchemy_full aspirin benzene BZR BZR_MD COX2 COX2_MD DHFR DHFR_MD ER_MD ethanol
        FRANKENSTEIN malonaldehyde MCF-7 MCF-7H MOLT-4 MOLT-4H MUTAG Mutagenicity naphthalene NCI1
        NCI109 NCI-H23 NCI-H23H OVCAR-8 OVCAR-8H P388 P388H PC-3 PC-3H PTC_FM PTC_FR PTC_MM PTC_MR
        QM9 salicylic_acid SF-295 SF-295H SN12C SN12CH SW-620 SW-620H toluene UACC257 UACC257H
        uracil Yeast YeastH ZINC_full ZINC_test ZINC_train ZINC_val
    """,
    "bioinformatics": "DD ENZYMES KKI OHSU Peking_1 PROTEINS PROTEINS_full",
    "computer vision": """
        COIL-DEL COIL-RAG Cuneiform Fingerprint FIRSTMM_DB Letter-high Letter-low Letter-med MSRC_9
        MSRC_21 MSRC_21C
    """,
    "social networks": """
        COLLAB dblp_ct1 dblp_ct2 DBLP_v1 deezer_ego_nets facebook_ct1 facebook_ct2 github_stargazers
        highschool_ct1 highschool_ct2 IMDB-BINARY IMDB-MULTI infectious_ct1 infectious_ct2 mit_ct1
        mit_ct2 REDDIT-BINARY REDDIT-MULTI-5K REDDIT-MULTI-12K reddit_threads tumblr_ct1 tumblr_ct2
        twitch_egos TWITTER-Real-Graph-Partial
    """,
    "synthetic": "COLORS-3 SYNTHETIC SYNTHETICnew Synthie TRIANGLES",
}

SUBJECT_OF = {name: subject for subject, names in _BY_SUBJECT.items() for name in names.split()}
"""Subject of every collection, by its name."""

TUDATASETS = tuple(sorted(SUBJECT_OF, key=str.lower))
"""Names of the collections (chrsmrrs.github.io/datasets)."""


def download_archive(name: str, data_home: Path) -> Path:
    """Fetch an archive from the first mirror that has it; its checksum is written beside it."""
    target = data_home / f"{name}.zip"
    failures = []
    for mirror in MIRRORS:
        url = mirror.format(name=name)
        try:
            with atomic_path(target, follow_links=False) as part:
                _fetch(url, part, name)
                keep_checksum(target, part)  # first, so that no archive is without one
            return target
        except OSError as error:  # what requests raises derives from it
            failures.append(f"  {url}: {error}")
    raise InvalidInputError(
        f"{name} could not be downloaded:\n" + "\n".join(failures) + "\n"
        f"Check the name and the connection, or place the archive by hand as {target}"
    )


def keep_checksum(archive: Path, content: Path) -> None:
    """Write the checksum of an archive beside it; `content` is the file that will become it."""
    with atomic_path(_checksum_file(archive), follow_links=False) as part:
        part.write_text(f"{_sha256(content)}  {archive.name}\n", encoding="utf-8")


def forget_checksum(archive: Path) -> None:
    """Remove the checksum of an archive, if there is one."""
    _checksum_file(archive).unlink(missing_ok=True)


def verify_checksum(archive: Path) -> None:
    """Raise unless an archive has the checksum of its first download, where there is one."""
    beside = _checksum_file(archive)
    if not beside.is_file():
        return
    expected = beside.read_text(encoding="utf-8", errors="replace").split()[:1]
    found = _sha256(archive)
    if expected != [found]:
        raise InvalidInputError(
            f"{archive} has the checksum {found}, but {beside.name} says "
            f"{expected[0] if expected else 'nothing'}; delete the archive to fetch it again, "
            f"or {beside.name} if you changed the archive on purpose"
        )


def _checksum_file(archive: Path) -> Path:
    return archive.with_name(archive.name + ".sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(url: str, part: Path, name: str) -> None:
    from pooch import HTTPDownloader

    bar = _DownloadBar(name)
    fetch = HTTPDownloader(progressbar=bar, chunk_size=_CHUNK_BYTES, timeout=_TIMEOUT_SECONDS)
    try:
        fetch(url, str(part), None)
    finally:
        bar.close()


class _DownloadBar:
    """The progress bar in the form that pooch calls: it sets `total`, then updates."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.total = 0
        self._bar: AbstractContextManager[Callable[[float], None]] | None = None
        self._advance: Callable[[float], None] = lambda _: None

    def update(self, n_bytes: int) -> None:
        if self._bar is None:
            self._bar = progress_bar(f"downloading {self.name}", self.total)
            self._advance = self._bar.__enter__()
        self._advance(n_bytes)

    def reset(self) -> None:
        """Stop counting: pooch winds its bar back and fills it up when all is done."""
        self._advance = lambda _: None

    def close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
