"""The ember: who carries it, who flees with it, and who has kept it for longest."""
