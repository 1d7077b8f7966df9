"""What the steps of a proof take on an ordinary core, as `benchmarks/check_cost.py` measures them."""

PROCESS_BYTES = 80 * 2**20  # the interpreter with all that is imported
PROPERTY_BYTES = 600  # what is known of a property, beside arrays
BALL_BYTES = 90  # a ball in an array
ENTRY_BYTES = 56  # a ball in one of python-flint's matrices or polynomials

STEP_SECONDS = 1.2e-4  # operations on a few arrays, however small
ELEMENT_SECONDS = 0.15e-6  # an operation on one ball of an array
PRODUCT_SECONDS = 8e-9  # a multiplication within a product of matrices
COEFFICIENT_SECONDS = 1e-5  # one coefficient in a product of polynomials
TAIL_SECONDS = 4e-6  # the mass beyond a point
MOMENT_SECONDS = 12e-6  # the exponential moment of a neuron
FACTOR_SECONDS = 60e-6  # a neuron's factor of a characteristic function
COMPARISON_SECONDS = 2e-9  # two floats in an array
MEETING_SECONDS = 0.3e-6  # two sets of cells
LOOKUP_SECONDS = 2e-8  # a cell in a set
