"""The lost thing of the day: whoever finds it wears it for a day."""
