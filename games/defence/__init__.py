"""Defence: monsters walk to a castle, and players build towers beside their ways."""
