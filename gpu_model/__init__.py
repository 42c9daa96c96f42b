"""How fast is a kernel on a GPU that is not there? A model of GPUs, and measured ladders to hold it against."""
