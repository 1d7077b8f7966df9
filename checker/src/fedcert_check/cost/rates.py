"""What the steps of a proof take on an ordinary core, as `benchmarks/check_cost.py` measures them."""

PROCESS = 260 * 2**20  # bytes of the interpreter with all that is imported
PROPERTY = 600  # bytes of what is known of a property, beside arrays
BALL = 90  # bytes of a ball in an array
ENTRY = 56  # bytes of a ball in one of python-flint's matrices or polynomials

STEP = 1.2e-4  # seconds of the operations on some arrays, however small
ELEMENT = 0.15e-6  # of an operation on one ball of an array
PRODUCT = 8e-9  # of a multiplication within a product of matrices
COEFFICIENT = 1e-5  # of one coefficient in a product of polynomials
TAIL = 4e-6  # of the mass beyond a point
MOMENT = 12e-6  # of the exponential moment of a neuron
FACTOR = 60e-6  # of a neuron's factor of a characteristic function
COMPARISON = 2e-9  # of two floats in an array
MEETING = 0.3e-6  # of two sets of cells
LOOKUP = 2e-8  # of a cell in a set
