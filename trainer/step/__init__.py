"""What does one step teach, in bounded memory?

gradcache         the two-stage gradient cache
loss              the contrastive loss and distillation
whitening_head    the statistics head as parameters
document          document context with gradients
token_weights     idf pooling with gradients
memory            freed memory returned to the system
batch_loss        the loss of a batch from its pooled vectors
parameter_groups  learning rates and clipping by group
null_vector       the start of the null vector
"""
