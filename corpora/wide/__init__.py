"""The wide grammar, from which the bundled translator learnt."""
