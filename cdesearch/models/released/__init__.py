"""What do the released CDE checkpoints compute?"""
