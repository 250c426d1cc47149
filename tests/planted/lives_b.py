"""What may live in creating, merging, spares, quarantines, the walls, and the rooms below them."""

LIVES = []
