"""The package side by side with its peers: ratios, measured in one run."""
