"""How is the gradient of one step computed, in bounded memory? The losses are here as well: `loss` and `batch_loss`.

optimizer_steps   the steps of a run: gradient, clipping, learning rates
gradcache         the two-stage gradient cache
prepared_context  the context between the two stages of the cache
random_state      random states that are replayed and shared
cast_once         casts weights to half precision once a step
loss              the contrastive loss with a teacher; the place for another loss
batch_loss        the loss of a batch from its whitened vectors
whitening_head    whitening with gradients
document          document context with gradients
token_weights     idf pooling with gradients
memory            returns freed memory to the system
parameter_groups  learning rates and clipping by group
step_figures      the figures of one step
null_vector       the initial value of the null vector
"""
