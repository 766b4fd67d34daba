"""What people leave on the ground: the paths that their feet wear, and the gardens they plant."""
