"""What is the loss of a batch? Each part of it has gradients.

batch_loss       the loss of a batch: whitening, document context, then the objective of the recipe
contrastive      the contrastive loss with a teacher; the place for another loss
margin           false negatives by the model's own cosines
query_negatives  the other queries of a batch as negatives
matryoshka       the first components of vectors
quantisation     vectors rounded as they are stored
teacher          the documents of which a teacher knows
whitening_head   corpus-statistics whitening
document         document context
long_documents   queries against the chunks of their own document, and against whole documents
token_weights    idf pooling
"""
