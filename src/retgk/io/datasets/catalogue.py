"""Names of the collections of TUDataset (chrsmrrs.github.io/datasets), by their subject."""

__all__ = ["SUBJECT_OF", "TUDATASETS"]

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
"""Names of the collections."""
