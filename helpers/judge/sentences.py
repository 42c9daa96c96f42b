"""What a verdict says, in English: {key: sentence}. `zh_CN.toml` beside it has the same keys in Chinese."""

LOOK = "look at which {} a thread takes, and at the guards"
STAGED = (
    "where {0}[{{row}}, {{col}}] belongs it takes {0}[{{other_row}}, {{other_col}}], at {{shape}}; look at how {0} is "
)
STAGED += "staged and read, and with which row length"
ROWS_OF = "{} is read as if its rows had {} elements, not {}, for example at {{shape}}: the rows of {} begin {} apart"
ANOTHERS = (
    "each wrong element of C holds what belongs to another {}: at {{shape}}, C[{{row}}, {{col}}] holds the sum for "
)
ANOTHERS += "C[{{other_row}}, {{other_col}}]; look at {}"

SENTENCES = {
    # nothing, zeros, or NaN
    "returns_none": "it returns None",
    "zeros": "every element of C is zero",
    "zeros_of_a_function": "every element of C is zero; what a device has computed must be copied back into the array "
    "that is returned",
    "nothing_stored": "no element of C is ever written",
    "adds_to_C": "it adds to what C held before it ran; start from zero and store the sum",
    "reads_past": "it reads past the end of A or B, for example at {shape}: a load guard is missing",
    "not_a_number": "C holds NaN, and A and B hold none: look for a division by zero, an infinity, or the root of a "
    "negative number",
    "unset": "what it stores comes from numbers that nobody has set, such as a sum that does not start at zero, or an "
    "element of a tile that was never staged",
    "x_and_y_swapped": "right when it is launched with x and y exchanged, and wrong at {shape}",
    "holes_and_wrong": "part of C is never stored and of the rest some is wrong, for example at {shape}",
    "only_the_diagonal": "only the diagonal of C is stored, for example at {shape}: a thread's row and its column are the "
    "same number",
    "unwritten_last_rows": f"the last rows never stored, for example at {{shape}}; {LOOK.format('rows')}",
    "unwritten_last_columns": f"the last columns never stored, for example at {{shape}}; {LOOK.format('columns')}",
    "unwritten_rows": f"whole rows, row {{row}} first, never stored, for example at {{shape}}; {LOOK.format('rows')}",
    "unwritten_columns": "whole columns, column {col} first, never stored, for example at {shape}; "
    + LOOK.format("columns"),
    "unwritten_elements": "part of C, C[{row}, {col}] first, never stored, for example at {shape}; "
    + LOOK.format("elements"),
    # how numbers are held
    "whole_numbers": "right for whole numbers in A and B, and wrong for fractions: a sum, a product or a tile is an int, "
    "no float",
    "special_numbers": "right where A and B hold any numbers between -1 and 1, and wrong where some are zero, equal, tiny "
    "or huge, at {shape}; look for tests of A's and B's numbers",
    "rounds_amiss": "right where {inputs} holds each number of A and B, and wrong where it does not, for example at "
    "{shape}; look at how they are rounded: to the nearest",
    "rounded_to": "C is right for an A and a B that are rounded to {inputs}; keep them in float32",
    "fewer_digits": "C is right to some {digits} of float32's 24 binary digits; look for a type of fewer, and for sums of "
    "numbers that cancel",
    # which sums they are
    "transposed": "C holds the transpose of A @ B: row and column are swapped, in the store or in all before it",
    "column_major": "right where each matrix lies column by column. In this course it lies row by row: A[row * K + k], "
    "B[k * N + col], C[row * N + col]",
    "first_of_K": "only the first {count} of {K} products are summed; look at the loops over k and where they end",
    "last_of_K": "of {K} products only the last {count} went into the sum, as if = stood for +=",
    "no_first_tile": "the first K-tile is missing; look at the loops over k and where they begin",
    "no_first": "the first product is missing; look at the loops over k and where they begin",
    "products_missing": "products are missing, those for k = {some} of {K}; look at which elements of A and B each round "
    "takes",
    "tiles_missing": "whole K-tiles are missing, those for k = {some} of {K}; look at which tile each round takes",
    "one_of_each_tile_missing": "of each K-tile one product is missing, those for k = {some} of {K}; look at the loops "
    "over k and where they begin",
    "products_repeated": "each product belongs in the sum once; for k = 0, 1, ... it is there {some} times, where K is "
    "{K}; look at which tile a round takes, and where the next one begins",
    "wrong_row": ANOTHERS.format("row", "which row of A it reads, and which row of C it stores"),
    "wrong_column": ANOTHERS.format("column", "which column of B it reads, and which column of C it stores"),
    "wrong_place": ANOTHERS.format("place", "where it stores, and which row and column it sums"),
    "A_aside": "A is read one column too far to the left or right of B's row; for example at {shape}",
    "B_aside": "B is read one row too far above or below A's column; for example at {shape}",
    "tile_of_A_transposed": "the tile of A is transposed: compare how it is stored and how it is read; for example at "
    "{shape}",
    "tile_of_B_transposed": "the tile of B is transposed: compare how it is stored and how it is read; for example at "
    "{shape}",
    "A_stays": "the tile of A is the first one in every round: its index does not move on; for example at {shape}",
    "B_stays": "the tile of B is the first one in every round: its index does not move on; for example at {shape}",
    "A_in_rows_of_M": ROWS_OF.format("A", "M", "K", "A", "K"),
    "A_in_rows_of_N": ROWS_OF.format("A", "N", "K", "A", "K"),
    "B_in_rows_of_M": ROWS_OF.format("B", "M", "N", "B", "N"),
    "B_in_rows_of_K": ROWS_OF.format("B", "K", "N", "B", "N"),
    "other_element_of_A": STAGED.format("A"),
    "other_element_of_B": STAGED.format("B"),
    "starts_off_zero": "every element is {off} off, for example at {shape}: where does its sum start?",
    # where it is wrong
    "edge_last_rows": f"wrong only in the last rows, for example at {{shape}}; {LOOK.format('rows')}",
    "edge_last_columns": f"wrong only in the last columns, for example at {{shape}}; {LOOK.format('columns')}",
    "part_is_zero": "part of C is zero, the rest is right: at {shape}, C[{row}, {col}] is the first; look at the loops over "
    "a thread's own elements and at the guards of the loads",
    "part_is_zero_of_a_function": "part of C is zero, the rest is right: at {shape}, C[{row}, {col}] is the first; look at "
    "the grid that it launches, which must cover C, and at the guards",
    "from_a_row": "right before row {first}, and wrong in each row from there on",
    "from_a_column": "right before column {first}, and wrong in each column from there on",
    "from_a_K": "right up to K = {most}, and wrong at K = {first}",
    "wrong_numbers": "wrong at {shape}, where C[{row}, {col}] is the first wrong element",
    "wrong_at_some": "right at other shapes, and wrong at {shape}, where C[{row}, {col}] is the first wrong element",
    # not C alone
    "input_changed": "it changes {name}, which it should only read: C is right once, and the next launch gets another "
    "{name}",
    "miscompiled": "right on {device} where its compiler optimises nothing (-cl-opt-disable), and wrong at {shape} where "
    "it does: the compiler makes a mistake, or the kernel does what the language leaves open. HELPERS_OPENCL_DEVICE "
    "takes another device",
    "other_sizes": "right with {own}, and wrong with {other}, where the finding is: {kind}, {found}",
    "with_sizes": "with {other}, {found}",
    # what Oclgrind reports
    "outside_memory": "it {does} outside {where}",
    "reads": "reads",
    "writes": "writes",
    "global_memory": "global memory",
    "local_memory": "local memory",
    "private_memory": "private memory",
    "an_array": "an array",
    "as_reported": "{first}",
    "divergent_copy": "the work-items of a work-group do not all ask for the same copy here. async_work_group_copy is one "
    "copy for the whole work-group: each work-item calls it, with the same places and the same number of elements",
    "some_reach_barrier": "only some work-items of a work-group reach this barrier",
    "two_touch": "two work-items touch the same element of {where}, one of them writing",
    "two_write_local": "two work-items write different numbers to the same element of local memory",
    "local_race": "work-items read and write the same element of local memory",
    "local_race_between": "work-items read and write the same element of local memory, since there is no barrier between "
    "line {line} and line {other}",
    "local_race_round": "work-items read and write the same element of local memory, since no barrier keeps line {line} "
    "from running again before all are done with line {other}",
    "misaligned_vector": "it {does} a vector at an address that is no multiple of the vector's size, which GPUs cannot do. "
    "vload4 and vstore4 take any element of a float array",
    "nobody_waits": "nobody waits until the copy is done. Call wait_group_events(1, &e) with the event that "
    "async_work_group_copy returned, before the numbers are read",
    "waits_for_no_copy": "it waits for an event that no async_work_group_copy has returned",
    "unset_and_no_local": "what it stores comes from numbers that nobody has set, such as a sum that does not start at "
    "zero, or an element of a tile that was never staged. Nothing here is __local: {name} is a work-item's own, and no "
    "other one's numbers reach it",
    "unset_condition": "an `if` or a loop here asks for a number that nobody has set",
    "unset_index": "an index here comes from a number that nobody set",
    "waits_for_others": "it waits here, in a loop, for what another work-item does. OpenCL promises no order of work-items: "
    "the other one may never begin",
    "unset_variable": "{name} is used before it is set. Numba happens to begin it with zero, which nothing promises",
    "unset_array": "an element of a local array is used before it is set. Numba happens to begin it with zero, which "
    "nothing promises",
    "unset_arrays": "an element of one of these local arrays is used before it is set. Numba happens to begin it with zero, "
    "which nothing promises",
    "whole_row": "C[{index}] is a whole row of C, and all of it is stored: write C[row, column], with a comma",
    "who_left": "only {came} of the {threads} threads of block {block} reach this barrier; the others ended, or go round it, "
    "and what they should stage is missing. Let all threads reach it, and guard the loads",
    # what was not done
    "not_looked_for": "not looked for here: {what}",
    "races_not_looked_for": "not looked for here: races, which may be the cause: python -m helpers doctor",
    "on_the_PTX_machine": "multiplied on the PTX machine, at the sizes that it does in seconds: no device here runs it "
    "natively",
}
