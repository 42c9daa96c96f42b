"""What does an OpenCL kernel touch? A reader of its source, which notes each access to global and local memory."""
