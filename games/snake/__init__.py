"""Snake: a snake that eats grows, and one that runs into another falls apart."""
