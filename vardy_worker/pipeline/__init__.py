"""What becomes of a job: all branching between stages, and every status change of a worker."""
