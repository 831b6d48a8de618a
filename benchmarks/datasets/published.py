"""Published facts: sizes, addresses and checksums of data sets."""

# Documents, queries with a relevant document and lines of judgements of the test splits (Thakur et al., NeurIPS 2021,
# and the BEIR repository).
COUNTS = {
    "arguana": (8674, 1406, 1406),
    "fiqa": (57638, 648, 1706),
    "nfcorpus": (3633, 323, 12334),
    "scidocs": (25657, 1000, 29928),
    "scifact": (5183, 300, 339),
    "trec-covid": (171332, 50, 66336),
}

URL = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{name}.zip"
MD5 = {
    "arguana": "8ad3e3c2a5867cdced806d6503f29b99",
    "fiqa": "17918ed23cd04fb15047f73e6c3bd9d9",
    "nfcorpus": "a89dba18a62ef92f7d323ec890a0d38d",
    "scidocs": "38121350fc3a4d2f48850f6aff52e4a9",
    "scifact": "5f7d1de60b170fc8027bb7898e2efca1",
    "trec-covid": "ce62140cb23feb9becf6270d0d1fe6d1",
}
