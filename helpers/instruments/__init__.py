"""What no clock shows."""
