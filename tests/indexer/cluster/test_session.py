import pytest

from cdesearch.errors import ClusterError
from indexer.cluster.session import connected

pytestmark = pytest.mark.slow
ray = pytest.importorskip("ray")


def test_a_cluster_of_this_process_listens_at_127_0_0_1_although_ray_was_imported_before():
    with connected(None, 1) as session:
        assert session.n_workers == 1
        assert ray.get_runtime_context().gcs_address.startswith("127.0.0.1:")


def test_a_cluster_that_does_not_start_is_an_error_of_the_cluster(monkeypatch):
    def fail(*_, **__):
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(ClusterError, match="timed out during startup"), connected(None, 1):
        pass
