"""Speed and accuracy against named baselines, each a ratio within one run. `make bench`."""
