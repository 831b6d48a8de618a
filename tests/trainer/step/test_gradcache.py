import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from batches import (
    VARIANTS,
    WINDOWED,
    gradients,
    loss_fn_of,
    make_batch,
    make_student,
    make_window_batch,
    weights_of,
)
from conftest import TINY

import trainer
from cdesearch.models.backbones import attention
from cdesearch.models.backbones.bert import mean_pool
from cdesearch.models.backbones.packed import pack_texts
from cdesearch.models.contextual.second_stage import SecondStage
from trainer.loss.contrastive import contrastive
from trainer.loss.token_weights import context_frequencies, features_of
from trainer.step import cached_pass, gradcache
from trainer.step.cached_pass import TIDY_EVERY
from trainer.step.gradcache import GradCache

TESTS = Path(__file__).parents[2]
SHARED = ["cached", "sink", "tokens", "siblings", "joint"]  # variants whose batch is divided among two processes


def full_graph(model, head, batch, micro_batch, precision=torch.float32):
    """The same forward passes in the same order, all in one graph."""
    half = precision != torch.float32

    def embed(tokens, network):
        parts = tokens.micro_batches(slice(0, len(tokens)), micro_batch)
        order = torch.cat([indices for indices, _ in parts])
        return torch.cat([network(part, rows) for rows, part in parts])[order.argsort()]

    stage, make_weights = model.second_stage, weights_of(head, batch)
    context, is_null = batch.context_texts, batch.is_null
    reads_nothing = bool(is_null.all()) and (stage.reads_siblings or stage.film is not None)  # no null vector either
    if stage.reads_siblings:
        context, is_null = batch.documents, torch.zeros(len(batch.documents), dtype=torch.bool)
    with torch.autocast("cpu", precision, enabled=half):
        frequencies = context_frequencies(batch, TINY.backbone.vocabulary)
        vectors = embed(context, lambda part, _: model.context_states(part.ids, part.mask, frequencies).float())
        prepared, norms = None, None
        if reads_nothing:
            pass
        elif stage.film is not None:
            norms = stage.folded_norms(features_of(vectors[~batch.is_null], frequencies))
        elif not stage.joint:
            prepared = stage.cache(vectors, is_null)
    weights = make_weights()

    def second_stage(part, bias=None, prepared=prepared):
        with torch.autocast("cpu", precision, enabled=half):
            if stage.joint:
                states = stage.joint_states(part.ids, part.mask, vectors, batch.is_null)
            else:
                states = stage.states(part.ids, part.mask, *(prepared or (None, None)), bias, norms)
        return mean_pool(states.float(), weights[part.ids] * part.mask)

    def query(part, _):
        return second_stage(part, prepared=None) if stage.reads_siblings else second_stage(part)

    def document(part, rows):
        reads_siblings = stage.reads_siblings and not reads_nothing
        return second_stage(part, stage.sibling_bias(batch.sibling_mask[rows]) if reads_siblings else None)

    pooled = [embed(batch.queries, query), embed(batch.documents, document)]
    output = loss_fn_of(head, batch)(pooled[0], pooled[1], pooled[1][batch.context])
    output.loss.backward()
    return output.loss.item(), gradients(model, head)


def cached(model, head, batch, micro_batch, **options):
    output = GradCache(model, head, micro_batch, **options).step(
        batch, weights_of(head, batch), loss_fn_of(head, batch)
    )
    return output.loss.item(), gradients(model, head)


def assert_same(one, other, atol=1e-5, rtol=1e-4):
    assert one[0] == pytest.approx(other[0], abs=atol)
    assert one[1].keys() == other[1].keys()
    for name, gradient in one[1].items():
        torch.testing.assert_close(gradient, other[1][name], atol=atol, rtol=rtol, msg=name)


SHAPES = [
    (variant, first_stage)
    for variant, config in VARIANTS.items()
    for first_stage in (["own", "shared"] if config.context_source == "pooled" else ["shared"])
]


@pytest.mark.parametrize(("variant", "first_stage"), SHAPES)
@pytest.mark.parametrize(("micro_batch", "dropout"), [(1, 0.0), (5, 0.3), (64, 0.3)])
def test_the_cache_gives_the_full_graphs_gradient(variant, first_stage, micro_batch, dropout):
    config = replace(VARIANTS[variant], first_stage=first_stage)
    batch = make_batch()
    results, states = [], []
    for run in (full_graph, cached):
        model, head = make_student(config, dropout)
        torch.manual_seed(5)
        results.append(run(model, head, batch, micro_batch))
        states.append(torch.get_rng_state())
    assert_same(*results)
    assert torch.equal(*states), "after the step, random numbers are the same"


@pytest.mark.parametrize("variant", ["cached", "tokens", "statistics", "joint"])
@pytest.mark.parametrize("n_context", [4, 15])
def test_a_context_disjoint_from_the_batch_has_the_full_graphs_gradient(variant, n_context):
    other = make_batch(n_context).queries
    batch = replace(make_batch(), context_tokens=other, is_null=torch.arange(n_context) == 1)
    config, results = VARIANTS[variant], []
    for run in (full_graph, cached):
        model, head = make_student(config)
        results.append(run(model, head, batch, 5))
    assert_same(*results)
    model, head = make_student(config)
    assert cached(model, head, make_batch(), 5)[0] != pytest.approx(results[1][0], abs=1e-4)


def test_a_batch_without_context_trains_the_null_vector_and_not_the_first_stage():
    batch = make_batch()
    batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    model, head = make_student()
    _, found = cached(model, head, batch, 4)
    assert found["0.second_stage.null"].abs().sum() > 0
    assert not any(name.startswith("0.own_first_stage") for name in found)


def test_with_every_gate_zero_the_gradient_is_the_plain_biencoders_and_the_whitening_still_learns():
    batch = make_batch()
    results = []
    for run in (full_graph, cached):
        model, head = make_student()
        model.requires_grad_(False)
        model.second_stage.backbone.requires_grad_(True)
        for gate in model.second_stage.gates:
            gate.fill_(0.0)
        results.append(run(model, head, batch, 5))
    assert_same(*results)
    assert results[0][1]["1.shift"] != 0 and not any("doors" in name for name in results[0][1])


def test_a_frozen_first_stage_gets_no_gradient_and_keeps_no_graph():
    model, head = make_student()
    has_graph = []
    model.own_first_stage.register_forward_hook(lambda _m, _in, out: has_graph.append(out.requires_grad))
    _, found = cached(model, head, make_batch(), 4, freeze_first_stage=True)
    assert not any(name.startswith("0.own_first_stage") for name in found)
    assert has_graph == [False] * 3, "10 texts in micro-batches of 4, each run once"


@pytest.fixture(scope="module")
def in_two_processes(tmp_path_factory):
    """The loss, gradients and cached context values that each of two processes computes, by case."""
    folder = tmp_path_factory.mktemp("processes")
    cases = [
        *((variant, "0.0", "shared") for variant in SHARED),
        ("cached", "0.3", "shared"),
        ("windows", "0.0", "shared"),
        *((variant, "0.0", "own") for variant in ("sink", "joint")),
    ]
    # The tested package is used, not an installed one.
    paths = [TESTS, TESTS / "trainer", Path(trainer.__file__).parents[1]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    program = TESTS / "trainer" / "two_processes.py"
    words = [folder / "store", folder / "out", *(word for case in cases for word in case)]
    processes = [subprocess.Popen([sys.executable, program, str(rank), *words], env=environment) for rank in range(2)]
    assert [process.wait(240) for process in processes] == [0, 0]
    return [torch.load(folder / f"out.{rank}") for rank in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("variant", SHARED)
def test_two_processes_compute_the_gradient_of_one(variant, in_two_processes):
    model, head = make_student(VARIANTS[variant])
    batch, cache = make_batch(), GradCache(model, head, 4)
    loss = cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch)).loss.item()
    cache.sum_gradients()
    for found in in_two_processes:
        case = found[variant, "0.0", "shared"]
        assert_same((loss, gradients(model, head)), (case["loss"], case["gradients"]))


@pytest.mark.slow
def test_two_processes_share_the_windows_of_a_batch(in_two_processes):
    alone = cached(*make_student(WINDOWED), make_window_batch(), 4)
    for found in in_two_processes:
        case = found["windows", "0.0", "shared"]
        of_all = {name: gradient for name, gradient in case["gradients"].items() if name in alone[1]}
        assert_same(alone, (case["loss"], of_all))


@pytest.mark.parametrize("variant", ["sink", "joint"])
def test_two_processes_with_batches_of_their_own_compute_the_mean_gradient(variant, in_two_processes):
    alone = []
    for n in (12, 9):
        model, head = make_student(VARIANTS[variant])
        alone.append(cached(model, head, make_batch(n=n), 4))
    loss = sum(loss for loss, _ in alone) / 2
    expected = {name: (gradient + alone[1][1][name]) / 2 for name, gradient in alone[0][1].items()}
    for found in in_two_processes:
        case = found[variant, "0.0", "own"]
        gradients_of_all = {name: gradient for name, gradient in case["gradients"].items() if name in expected}
        assert_same((loss, expected), (case["loss"], gradients_of_all))


def test_with_dropout_two_processes_see_the_same_context(in_two_processes):
    assert torch.equal(*(found["cached", "0.3", "shared"]["values"][0] for found in in_two_processes))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_in_half_precision_too_the_gradient_is_the_full_graphs(variant, dropout):
    results = []
    for run in (full_graph, cached):
        model, head = make_student(VARIANTS[variant], dropout)
        torch.manual_seed(5)
        results.append(run(model, head, make_batch(), 5, precision=torch.bfloat16))
    (loss, expected), (again, found) = results
    assert again == pytest.approx(loss, rel=0.01) and found.keys() == expected.keys()
    for name, gradient in found.items():
        assert (gradient - expected[name]).norm() <= 0.1 * expected[name].norm() + 0.02, name


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("attention", ["cached", "joint"])
def test_both_stages_and_the_context_pass_run_in_the_given_precision(attention, precision):
    model, head = make_student(replace(TINY, context_attention=attention))
    seen = {}
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda _m, _in, out, name=name: seen.setdefault(name, set()).add(out.dtype))
    cached(model, head, make_batch(), 5, precision=precision)
    assert {name.split(".")[0] for name in seen} == {"own_first_stage", "second_stage"}
    assert any("context_projection" in name for name in seen)
    assert set.union(*seen.values()) == {precision}


@pytest.mark.parametrize(
    ("variant", "first_stage"),
    [shape for shape in SHAPES if shape[0] in ("cached", "sink", "tokens", "siblings", "statistics")],
)
def test_packed_texts_give_the_gradient_of_padded_ones(variant, first_stage, monkeypatch):
    """Without a kernel for it, packed attention runs text by text, on any machine."""

    def run(kernel):
        tensors, positions, packed = [], [], []
        monkeypatch.setattr(gradcache, "has_kernel", lambda tensor: tensors.append(tensor) or kernel)
        monkeypatch.setattr(
            cached_pass, "pack_texts", lambda ids, mask: packed.append(len(ids)) or pack_texts(ids, mask)
        )
        model, head = make_student(replace(VARIANTS[variant], first_stage=first_stage))
        embed = model.second_stage.backbone.embed
        model.second_stage.backbone.embed = lambda ids, places=None: positions.append(places) or embed(ids, places)
        result = cached(model, head, make_batch(), 5)
        assert [(tensor.dtype, tensor.device.type) for tensor in tensors] == [(torch.float32, "cpu")]
        assert any(places is not None for places in positions) == kernel
        n_context = 0 if model.second_stage.reads_tokens else 10  # the states of tokens come from padded texts
        assert sum(packed) == (12 + 12 + n_context) * kernel, "queries, documents and context"
        return result

    assert_same(run(kernel=False), run(kernel=True))


@pytest.mark.parametrize("attention", ["one_softmax", "joint"])
def test_texts_that_see_the_context_in_their_own_rows_are_never_packed(attention, monkeypatch):
    monkeypatch.setattr(gradcache, "has_kernel", lambda _: True)
    results = []
    for run in (full_graph, cached):
        model, head = make_student(replace(TINY, context_attention=attention))
        results.append(run(model, head, make_batch(), 5))
    assert_same(*results)


def test_the_packed_kernel_is_chosen_by_the_precision_of_the_run(monkeypatch):
    tensors = []
    monkeypatch.setattr(gradcache, "has_kernel", lambda tensor: tensors.append(tensor.dtype) or False)
    GradCache(*make_student(), 4, precision=torch.bfloat16)
    assert tensors == [torch.bfloat16]


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_weights_are_cast_once_a_step(precision):
    model, head = make_student()
    linear = next(module for module in model.second_stage.backbone.modules() if isinstance(module, torch.nn.Linear))
    seen = []
    linear.register_forward_pre_hook(lambda module, _: seen.append(module.weight))
    cached(model, head, make_batch(), 5, precision=precision)
    assert {weight.dtype for weight in seen} == {precision}
    assert len({id(weight) for weight in seen}) == 1


@pytest.mark.parametrize("own_batches", [None, False, True])
def test_a_process_computes_alone_only_with_a_batch_of_its_own(own_batches, monkeypatch):
    entered = []

    @contextmanager
    def alone():
        entered.append(True)
        yield

    monkeypatch.setattr(gradcache, "alone", alone)
    cached(*make_student(), make_batch(), 5, **({} if own_batches is None else {"own_batches": own_batches}))
    assert entered == [True] * (own_batches or 0), "by default a batch is shared"


def double(tensor):
    """The sum over two processes that have the same tensor, in its place."""
    return tensor.mul_(2)


@pytest.mark.parametrize("own_batches", [False, True])
def test_gradients_of_all_processes_are_summed_or_averaged(own_batches, monkeypatch):
    model, head = make_student()
    cache = GradCache(model, head, 5, own_batches=own_batches)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    monkeypatch.setattr(gradcache, "world", lambda: 2)
    monkeypatch.setattr(gradcache, "total", double)
    cache.sum_gradients()
    assert {value for parameter in model.parameters() for value in parameter.grad.unique().tolist()} == {
        1.0 if own_batches else 2.0
    }


@pytest.mark.parametrize(("processes", "own_batches"), [(1, False), (1, True), (2, False), (2, True)])
def test_the_loss_is_averaged_over_processes_with_batches_of_their_own(processes, own_batches, monkeypatch):
    model, head = make_student()
    batch = make_batch()
    sums = []
    monkeypatch.setattr(gradcache, "world", lambda: processes)
    monkeypatch.setattr(gradcache, "total", lambda tensor: sums.append(tensor.shape) or tensor)
    cache = GradCache(model, head, 5, own_batches=own_batches)
    output = cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
    alone = full_graph(*make_student(), batch, 5)[0]
    averaged = own_batches and processes == 2
    assert output.loss.item() == pytest.approx(alone / (2 if averaged else 1), rel=1e-5)
    assert sums.count(torch.Size([])) == (2 if averaged else 0), "loss and accuracy"


def test_each_process_adds_its_share_of_the_gradient_that_all_compute(monkeypatch):
    """All processes compute the loss, so the whitening gets a share from each; each text is run by one process."""
    found = []
    for processes in (1, 2):
        monkeypatch.setattr(gradcache, "world", lambda processes=processes: processes)
        found.append(cached(*make_student(), make_batch(), 5)[1])
    alone, shared = found
    for name, gradient in alone.items():
        share = 0.5 if name.startswith("1.") and "exponent" not in name else 1.0
        torch.testing.assert_close(shared[name], gradient * share, atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("kept", [None, 0, 1, 2, 64])
@pytest.mark.parametrize("micro_batch", [1, 5, 64])
def test_the_longest_micro_batches_are_not_repeated(micro_batch, kept):
    batch = make_batch()
    model, head = make_student()
    calls = []
    model.own_first_stage.register_forward_hook(lambda _m, given, _out: calls.append(("first", given[0].shape)))
    model.second_stage.states = lambda ids, *rest, real=model.second_stage.states, **more: (
        calls.append(("second", ids.shape)) or real(ids, *rest, **more)
    )
    cached(model, head, batch, micro_batch, **({} if kept is None else {"kept_graphs": kept}))
    kept = 1 if kept is None else kept  # by default the longest of each kind

    def shapes(tokens):
        return [part.ids.shape for _, part in tokens.micro_batches(slice(0, len(tokens)), micro_batch)]

    queries, documents, context = (
        shapes(tokens) for tokens in (batch.queries, batch.documents, batch.documents.take(batch.context))
    )
    assert [shape for stage, shape in calls if stage == "first"] == context + context[kept:]
    repeated = documents[kept:] + queries[kept:]
    assert [shape for stage, shape in calls if stage == "second"] == queries + documents + repeated


@pytest.mark.parametrize("variant", ["sink", "joint"])
@pytest.mark.parametrize("kept", [0, 2, 64])
def test_kept_graphs_change_no_gradient(variant, kept):
    results = []
    for number in (1, kept):
        model, head = make_student(VARIANTS[variant], dropout=0.3)
        torch.manual_seed(5)
        results.append(cached(model, head, make_batch(), 4, kept_graphs=number))
    assert_same(*results)


@pytest.mark.parametrize("variant", VARIANTS)
def test_attention_by_matrix_products_gives_the_gradient_of_flash_attention(variant, monkeypatch):
    """Processors with tiles for bf16 take the matrix products, here in fp32 to compare them exactly."""
    real, results = attention.attend_by_matrices, []
    for by_matrices in (False, True):
        calls = []
        if by_matrices:
            monkeypatch.setattr(attention, "_multiplies_faster", lambda _: torch.is_grad_enabled())
        monkeypatch.setattr(
            attention, "attend_by_matrices", lambda *given, calls=calls: calls.append(1) or real(*given)
        )
        model, head = make_student(VARIANTS[variant])
        results.append(cached(model, head, make_batch(), 5))
        assert bool(calls) == by_matrices
    assert_same(*results)


def test_freed_memory_is_released_after_every_few_micro_batches(monkeypatch):
    order = []
    real = gradcache.release_freed_memory
    for module in (gradcache, cached_pass):
        monkeypatch.setattr(module, "release_freed_memory", lambda: order.append("tidy") or real())
    model, head = make_student()
    model.own_first_stage.register_forward_hook(lambda *_: order.append("text"))
    cached(model, head, make_batch(), 1)
    first_pass = order[: 10 + 3]  # 10 texts of context, one a micro-batch
    assert TIDY_EVERY == 4
    assert first_pass == ["text", "tidy", *["text"] * 4, "tidy", *["text"] * 4, "tidy", "text"]
    # Three times in each forward and backward pass over context, queries and documents, and once after the loss.
    assert order.count("tidy") == 3 * 3 * 2 + 1


def test_a_second_step_adds_its_gradient_to_the_firsts():
    model, head = make_student()
    batch = make_batch()
    loss, once = cached(model, head, batch, 5)
    again, twice = cached(model, head, batch, 5)
    assert_same((loss, {name: 2 * gradient for name, gradient in once.items()}), (again, twice))


def test_the_step_returns_the_output_of_the_loss_function():
    model, head = make_student()
    batch = make_batch()
    given = []

    def loss_fn(queries, documents, context):
        assert torch.equal(context, documents[batch.context])
        given.append(loss_fn_of(head, batch)(queries, documents, context))
        return given[0]

    assert GradCache(model, head, 5).step(batch, weights_of(head, batch), loss_fn) is given[0]


def test_gates_that_are_zero_and_trained_read_the_context():
    model, head = make_student()
    with torch.no_grad():
        for gate in model.second_stage.gates:
            gate.fill_(0.0)
    _, found = cached(model, head, make_batch(), 5)
    assert all(found[f"0.second_stage.doors.{n}.gate"].abs().sum() > 0 for n in range(len(model.second_stage.doors)))


def test_gates_that_are_not_zero_and_frozen_read_the_context():
    results = []
    for run in (full_graph, cached):
        model, head = make_student()
        for gate in model.second_stage.gates:
            gate.requires_grad_(False)
        results.append(run(model, head, make_batch(), 5))
    assert_same(*results)
    assert any("own_first_stage" in name for name in results[1][1])


@pytest.mark.parametrize("why", ["null context", "zero gates"])
def test_the_first_stage_does_not_run_if_nothing_reads_it(why):
    batch, (model, head) = make_batch(), make_student()
    calls = []
    model.own_first_stage.register_forward_hook(lambda *_: calls.append("first stage"))
    if why == "null context":
        batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    else:
        for gate in model.second_stage.gates:
            gate.requires_grad_(False).fill_(0.0)
    cached(model, head, batch, 5)
    assert calls == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_batch_without_context_has_the_full_graphs_gradient(variant):
    batch = make_batch()
    batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    results = []
    for run in (full_graph, cached):
        model, head = make_student(VARIANTS[variant])
        loss, found = run(model, head, batch, 5)
        results.append((loss, {name: part for name, part in found.items() if "own_first_stage" not in name}))
    assert_same(*results)


def test_summed_gradients_are_zero_for_parameters_that_the_batch_does_not_use():
    batch, (model, head) = make_batch(), make_student()
    batch = replace(batch, is_null=torch.ones_like(batch.is_null))
    model.second_stage.backbone.requires_grad_(False)
    cache = GradCache(model, head, 5)
    cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
    before = gradients(model, head)
    cache.sum_gradients()
    after = gradients(model, head)
    learning = {
        f"{number}.{name}": parameter
        for number, module in enumerate((model, head))
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    }
    assert after.keys() == learning.keys() > before.keys()
    for name, parameter in learning.items():
        torch.testing.assert_close(after[name], before.get(name, torch.zeros_like(parameter)))


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["cached", "joint", "tokens", "siblings"])
@pytest.mark.parametrize("is_null", [False, True])
def test_everything_stays_on_the_device_of_the_model(variant, is_null, monkeypatch):
    """The meta device stores no numbers, and like a GPU it does not accept tensors of another device."""
    tensors = []
    monkeypatch.setattr(SecondStage, "gates_are_zero", False)  # this asks for numbers
    monkeypatch.setattr(gradcache, "has_kernel", lambda tensor: tensors.append(tensor.device.type) or False)
    monkeypatch.setattr(gradcache, "release_freed_memory", lambda: pytest.fail("released memory"))
    model, head = (module.to("meta") for module in make_student(VARIANTS[variant]))
    batch = make_batch()
    batch = replace(batch, is_null=batch.is_null | is_null)
    excluded = batch.excluded.to("meta")

    def loss_fn(queries, documents, context):
        assert {part.device.type for part in (queries, documents, context)} == {"meta"}
        return contrastive(queries, documents, excluded, 0.05)

    GradCache(model, head, 5).step(batch, lambda: torch.ones(TINY.backbone.vocabulary, device="meta"), loss_fn)
    assert tensors == ["meta"] * (variant != "joint")
    found = [parameter.grad for parameter in model.second_stage.parameters()]
    assert {gradient.device.type for gradient in found if gradient is not None} == {"meta"}
    if model.own_first_stage is not None:
        assert not any(gradient is None for gradient in found)
        assert all((parameter.grad is None) == is_null for parameter in model.own_first_stage.parameters())


def test_the_texts_of_which_only_statistics_are_read_keep_no_graph():
    model, head = make_student(VARIANTS["statistics"])
    real, has_graph = model.context_states, []
    model.context_states = lambda *given: has_graph.append(torch.is_grad_enabled()) or real(*given)
    cached(model, head, make_batch(), 4, kept_graphs=2)
    assert has_graph == [False] * 3


def test_micro_batches_contain_every_text_once_without_excess_padding():
    tokens = make_batch().documents
    parts = tokens.micro_batches(slice(2, 11), 4)
    assert sorted(torch.cat([indices for indices, _ in parts]).tolist()) == list(range(9))
    for indices, part in parts:
        longest = part.ids.shape[1]
        assert part.mask.sum(1).max() == longest
        torch.testing.assert_close(part.ids, tokens.ids[2:11][indices][:, :longest])
