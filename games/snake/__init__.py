"""Snake: who eats grows, and who runs into another one falls apart."""
