"""The process that reads files, as an installation without extras runs it.

Where pandas is installed, pyarrow imports it: a third of a second for every process, most of what an index of a few
documents costs. Commands that tests run as processes start the worker as it is.
"""

import sys

from cdesearch.cold_start import _NoPandas

sys.meta_path.insert(0, _NoPandas())

from indexer.reading import worker  # noqa: E402

if __name__ == "__main__":
    worker.main()
