"""Published facts: sizes and addresses of data sets, and results of well-known systems."""

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

# nDCG@10 x 100, not measured here: the BEIR paper's table 2 (Elasticsearch with its own weighting of titles),
# Anserini's regressions (title and text as one field, a query's own document removed), the results that MTEB keeps
# (github.com/embeddings-benchmark/results). M: millions of parameters.
ANCHORS = {
    "BM25 (BEIR paper)": {"scifact": 66.5, "arguana": 31.5},
    "BM25 (Anserini, flat)": {"scifact": 67.9, "arguana": 39.7},
    "all-MiniLM-L6-v2, 22M (MTEB)": {"scifact": 64.5, "arguana": 50.2},
    "bge-small-en-v1.5, 33M (MTEB)": {"scifact": 71.3, "arguana": 60.3},
    "snowflake-arctic-embed-s, 33M (MTEB)": {"scifact": 69.9, "arguana": 56.9},
    "granite-embedding-small-english-r2, 47M (MTEB)": {"scifact": 75.5, "arguana": 54.4},
    "cde-small-v1, 281M (MTEB)": {"scifact": 71.8, "arguana": 72.0},
    "cde-small-v2, 306M (MTEB)": {"scifact": 73.5, "arguana": 75.0},
}
