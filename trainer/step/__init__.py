"""What does one step teach, in bounded memory?

gradcache       the two-stage gradient cache
loss            the contrastive loss and distillation
whitening_head  the statistics head as parameters
document        document context with gradients
token_weights   idf pooling with gradients
memory          freed memory returned to the system
batch_loss      the loss of a batch from its pooled vectors
"""
