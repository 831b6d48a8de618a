"""How is the gradient of one step computed, in bounded memory?

optimizer_steps   the steps of a run: gradient, clipping, learning rates
gradcache         the two-stage gradient cache
cached_pass       one network over all texts, repeated with gradients; also with a loss of its own
prepared_context  the context between the two stages of the cache
random_state      random states that are replayed and shared
cast_once         casts weights to half precision once a step
memory            returns freed memory to the system
parameter_groups  learning rates and clipping by group
schedule          the factor of the learning rates at each step
step_figures      the figures of one step
null_vector       the initial value of the null vector
"""
