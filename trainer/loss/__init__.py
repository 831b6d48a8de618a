"""What is the loss of a batch? Each part of it has gradients.

contrastive     the contrastive loss with a teacher; the place for another loss
batch_loss      the loss of a batch: whitening, document context, then the contrastive loss
whitening_head  corpus-statistics whitening
document        document context
token_weights   idf pooling
"""
