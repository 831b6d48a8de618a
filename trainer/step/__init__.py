"""How is the gradient of one step computed, in bounded memory?

gradcache         the two-stage gradient cache
cached_pass       one network over all texts, repeated with gradients; also with a loss of its own
random_state      random states that are replayed
cast_once         casts weights to half precision once a step
memory            returns freed memory to the system
parameter_groups  learning rates and clipping by group
schedule          the factor of the learning rates at each step
"""
