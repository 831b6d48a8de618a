import torch
from batches import gradients, make_batch, make_student

from trainer.step.gradcache import cast_once


def layers_of(model):
    return [module for module in model.modules() if isinstance(module, torch.nn.Linear)]


def test_weights_that_are_cast_once_have_the_gradient_of_weights_that_autocast_casts():
    results = []
    for once in (False, True):
        model, _ = make_student()
        texts = make_batch().documents
        with cast_once(model, torch.bfloat16 if once else torch.float32), torch.autocast("cpu", torch.bfloat16):
            for _ in range(2):
                model.first_stage(texts.ids, texts.mask).float().square().sum().backward()
        results.append(gradients(model))
    assert results[0].keys() == results[1].keys()
    for name, gradient in results[0].items():
        assert gradient.dtype == torch.float32
        torch.testing.assert_close(gradient, results[1][name], atol=0, rtol=0, msg=name)


def test_after_the_block_the_model_has_its_parameters_in_their_order():
    model, _ = make_student()
    before = dict(model.named_parameters())
    try:
        with cast_once(model, torch.bfloat16):
            assert all(layer.weight.dtype == torch.bfloat16 for layer in layers_of(model))
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    after = dict(model.named_parameters())
    assert list(before) == list(after)
    assert all(after[name] is parameter for name, parameter in before.items())
    assert all(layer.weight is layer._parameters["weight"] for layer in layers_of(model))
