"""Which transformer encoders do the models contain?

bert           BERT
nomic_bert     NomicBERT
modern_bert    ModernBERT
attention      attention over text, and gated cross-attention to the context
joint          attention over context and text in one sequence
packed         texts end to end without padding
rotary         rotary positions
"""
