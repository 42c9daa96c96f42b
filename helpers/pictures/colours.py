"""One palette, in which a colour has one meaning.

A is blue, B is orange, C is green, from the first figure to the last. The course's kernels and their rates are purple,
what they are held against is grey, and each unit of a GPU has a colour of its own.
"""

A_COLOUR, B_COLOUR, C_COLOUR = "#2f6db3", "#d9822b", "#3d9a50"
MATRICES = {"A": A_COLOUR, "B": B_COLOUR, "C": C_COLOUR}
INK, PAPER, GRID = "#333333", "#f4f4f2", "#c9c9c6"
FAULT = "#c4302b"  # what should not be
PEER = "#8a8a86"  # what is not ours, and units without a colour
OURS = {"CUDA": "#7a5195", "OpenCL": "#a987c9", "Python": "#cdb9df"}  # by dialect
UNITS = {"loads and stores": "#1f7f86", "multiply-adds": "#b0456a", "integers": "#9a8f1e"}  # of a GPU
# Colours that tell threads or blocks of C apart without leaving the family of greens.
SHADES = (C_COLOUR, "#8fcf9b", "#226b33", "#c3e8ca", "#5fb36f", "#17482a")
DARK = {A_COLOUR, B_COLOUR, SHADES[0], SHADES[2], SHADES[5], FAULT}  # words on these are white
