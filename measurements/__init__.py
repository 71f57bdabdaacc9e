"""What users have measured on clusters that they rented, held against theory and kept.

models   a run of nccl-tests with its raw text, and the fact that it became
keeping  keep and withdraw: the fact stands in the ledger for as long as the run is kept
pages    the box for a pasted output, what comes of it, and each that is kept
api      the same for scripts
"""
